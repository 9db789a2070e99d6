package window

import (
	"context"

	"github.com/oriel-context/oriel/internal/prompt"
)

// maskResults replaces old tool results by stubs, oldest first, until the low
// mark is reached. The newest KeepResults (default 3) stay. If that leaves the
// request nearer to the budget than to the low mark, the oldest exchanges
// leave, down to the low mark, so that the next calls need no cut.
func maskResults(_ context.Context, d *draft, s *settings) error {
	keep := s.KeepResults
	if keep == 0 {
		keep = 3
	}
	all := results(d.h)
	for i, r := range all {
		if d.tokens() <= s.Low || i >= len(all)-max(keep, 0) {
			break
		}
		// The agent has not seen the newest yet; it is masked only if none are
		// kept.
		if !maskable(d.h, r, s) || keep > 0 && r.exchange == len(d.h.Cuts.Exchanges)-1 {
			continue
		}
		if d.mask(r.message, r.part, r.stub(d.h.partTokens(r.message, r.part), prompt.StubOldest),
			"oldest results first") && s.ClearInputs && r.tool != "" {
			d.clearArguments(r.callMessage, r.callPart)
		}
	}
	if s.Low < s.Budget && d.tokens() > (s.Low+s.Budget)/2 {
		evictTo(d, s.Low-markerRoom, firstAndPinned)
		d.readmitLost(s.Low - markerRoom)
		d.mark(s.Budget)
	}
	return nil
}
