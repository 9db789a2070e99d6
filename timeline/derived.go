package timeline

import "strings"

// Derived is something that was made of a content and can be made of it again, such as
// its vectors.
type Derived struct {
	Content Hash
	Data    []byte
}

// Family is the first part of a kind of derived data: "vector" of "vector/minilm".
func Family(kind string) string {
	family, _, _ := strings.Cut(kind, "/")
	return family
}

// CheckDerived reports what no store can keep, as an ErrInvalid.
func CheckDerived(tenant, kind string, data []Derived) error {
	if err := firstError(checkName("tenant", tenant), checkName("kind", kind), checkName("family of a kind", Family(kind))); err != nil {
		return err
	}
	for i := range data {
		if err := checkSize(data[i].Data); err != nil {
			return err
		}
	}
	return nil
}
