package timeline

import (
	"context"
	"encoding/json"
	"strings"
)

// maxTitle is the longest title that is kept, in bytes.
const maxTitle = 1 << 10

const titleKey = "file"

// storedTitle is the data of a title.
type storedTitle struct {
	V     int    `json:"v"`
	Title string `json:"title"`
}

// Title returns the title that an imported file gives the conversation, or "".
func (n Notes) Title(ctx context.Context) (string, error) {
	records, err := n.records(ctx, KindTitle, titleKey)
	if err != nil || len(records) == 0 {
		return "", err
	}
	var s storedTitle
	if json.Unmarshal(records[0].Data, &s) != nil || s.V != 1 {
		return "", nil
	}
	return s.Title, nil
}

// CleanTitle returns a title as it is kept: without white space around it, valid UTF-8, and
// not longer than a kilobyte.
func CleanTitle(title string) string {
	if len(title) > maxTitle {
		title = title[:maxTitle]
	}
	return strings.TrimSpace(strings.ToValidUTF8(title, ""))
}

// TitleRecord returns the record of a title.
func TitleRecord(title string) (Record, error) {
	data, err := json.Marshal(storedTitle{1, CleanTitle(title)})
	return Record{Kind: KindTitle, Key: titleKey, Data: data}, err
}
