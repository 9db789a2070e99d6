package oriel

import "github.com/oriel-context/oriel/items"

// Item is one element of a conversation: a message, a tool's result, a file. All fields have
// useful zero values: an item without a Source is shown without a label and has no weight for
// its source.
type Item = items.Item
