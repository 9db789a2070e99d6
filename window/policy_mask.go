package window

import "context"

// maskResults replaces old tool results by stubs, oldest first, until the low mark
// is reached. The newest KeepResults (default 3) stay. Where that does not bring the
// request within the budget, the oldest exchanges leave, down to the low mark too, so that
// cuts are rare.
func maskResults(_ context.Context, d *draft, s *Settings) error {
	keep := s.KeepResults
	if keep == 0 {
		keep = 3
	}
	all := results(d.h)
	for i, r := range all {
		if d.tokens() <= s.Low || i >= len(all)-max(keep, 0) {
			break
		}
		// The agent has not seen the newest yet; only who keeps none masks it.
		if !maskable(d.h, r, s) || keep > 0 && r.exchange == len(d.h.Cuts.Exchanges)-1 {
			continue
		}
		if d.mask(r.message, r.part, r.stub(d.h.partTokens(r.message, r.part), "it is among the oldest"), "oldest results first") && s.ClearInputs && r.tool != "" {
			d.clear(r.callMessage, r.callPart)
		}
	}
	if d.tokens() > s.Budget && s.Low < s.Budget {
		evictTo(d, s.Low-markerRoom, firstAndPinned)
		d.mark(s.Budget)
	}
	return nil
}
