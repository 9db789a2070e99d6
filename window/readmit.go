package window

import "sort"

// readmitRuns limits how many runs of exchanges readmit tries.
const readmitRuns = 16

// readmit restores exchanges that left in vain: they left before a newer one
// that was too large to stay, and without it there is room for them. It goes
// from the newest to the oldest, restores runs as long as fit into the target,
// and skips what does not fit.
func (d *draft) readmit(target int) {
	if d.newestOnly || d.tokens() >= target {
		return
	}
	var skipped []int
	e := len(d.keep) - 1
	for range readmitRuns {
		for ; e >= 0 && (d.keep[e] || d.h.Cuts.Exchanges[e].Broken != "" ||
			d.tokens()+d.h.exchangeTokens(e) > target); e-- {
			if !d.keep[e] && d.h.Cuts.Exchanges[e].Broken == "" {
				skipped = append(skipped, e)
			}
		}
		if e < 0 {
			return
		}
		with := func(n int) *draft {
			try := d.clone()
			try.admit(e-n+1, e)
			return try
		}
		// The first length that is too long.
		n := sort.Search(e+2, func(n int) bool { return n > 0 && with(n).tokens() > target }) - 1
		if n > 0 {
			*d = *with(n)
			for _, s := range skipped {
				if !d.keep[s] {
					d.reason[s] = "does not fit: older ones that do stay in its place"
				}
			}
			skipped = nil
		} else {
			skipped = append(skipped, e)
		}
		e -= max(n, 1)
	}
}

// readmitLost is readmit for a draft that fills less than an eighth of the
// target's room for messages. If that is not enough, it restores clipped
// replies as far as there is room. Usual cuts end nearer to the target and
// have one gap: small exchanges from before it do not come back.
func (d *draft) readmitLost(target int) {
	nearlyEmpty := func() bool { return d.tokens()-d.h.Base < (target-d.h.Base)/8 }
	if nearlyEmpty() {
		d.readmit(target)
	}
	if nearlyEmpty() {
		d.relax(target-d.tokens(), clippedReply)
	}
}

// admit sets the legal set nearest to also keeping the exchanges from first to
// last.
func (d *draft) admit(first, last int) {
	d.settle(func(e int) bool { return d.keep[e] || e >= first && e <= last && d.h.Cuts.Exchanges[e].Broken == "" }, "")
}
