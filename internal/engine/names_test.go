package engine

import (
	"github.com/oriel-context/oriel/internal/event"
	"github.com/oriel-context/oriel/items"
	"github.com/oriel-context/oriel/window"
)

// Short names for tests.
type (
	Item  = items.Item
	Plan  = window.Plan
	Event = event.Event
)
