package view

import (
	"sync"

	"github.com/oriel-context/oriel/window"
)

// vain holds the sizes of views that a summary did not bring within what their profile
// wants. It is safe for concurrent use.
type vain struct {
	mu    sync.Mutex
	sizes map[string]int // by conversation and audience
}

// mostVain is of how many conversations the sizes are kept.
const mostVain = 4096

func (v *vain) size(key string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sizes[key]
}

func (v *vain) note(key string, size int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.sizes == nil || len(v.sizes) >= mostVain {
		v.sizes = map[string]int{}
	}
	v.sizes[key] = size
}

func (s *request) vainKey() string {
	return s.Thread.Tenant + "\x00" + s.Thread.Conversation + "\x00" + s.Thread.Audience
}

// inVain reports whether a view that the model accepts stays over what its profile wants,
// because a summary of nearly as much did not help. Another is tried when a tenth has come
// since, not at every call.
func (s *request) inVain(total int) bool {
	if s.profile.Policy != "condense" || total > s.hard {
		return false
	}
	size := s.v.vain.size(s.vainKey())
	if total < size || total-size >= size/10 {
		return false
	}
	s.budget, s.grown = s.hard, &window.Growth{Wish: s.wish, For: window.ForWhole}
	return true
}

// stayOver lets a view be larger than its profile wants if no summary makes it small
// enough, as long as the model accepts it (SPEC B3).
func (s *request) stayOver(total int) {
	if s.profile.Policy != "condense" || total <= s.budget || total > s.hard {
		return
	}
	s.v.vain.note(s.vainKey(), total)
	s.budget, s.grown = s.hard, &window.Growth{Wish: s.wish, For: window.ForWhole}
}
