package timeline

import "strings"

// Derived is data computed from a content, such as its vectors, that can be computed
// again.
type Derived struct {
	Content Hash
	Data    []byte
}

// Family returns the first part of a kind of derived data: "vector" of
// "vector/minilm".
func Family(kind string) string {
	family, _, _ := strings.Cut(kind, "/")
	return family
}

// CheckDerived returns an ErrInvalid if no store can keep the data.
func CheckDerived(tenant, kind string, data []Derived) error {
	if err := firstError(checkName("tenant", tenant), checkName("kind", kind),
		checkName("family of a kind", Family(kind))); err != nil {
		return err
	}
	for i := range data {
		if err := checkSize(data[i].Data); err != nil {
			return err
		}
	}
	return nil
}
