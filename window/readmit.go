package window

import "sort"

// readmitRuns bounds how many runs of exchanges readmit tries.
const readmitRuns = 16

// readmit puts exchanges back that left in vain: they left before a newer one that was too
// large to stay, and there is room for them without it. It goes from the newest to the
// oldest, takes as long runs as fit into the target, and skips what does not fit.
func (d *draft) readmit(target int) {
	if d.newestOnly || d.tokens() >= target {
		return
	}
	var skipped []int
	e := len(d.keep) - 1
	for range readmitRuns {
		for ; e >= 0 && (d.keep[e] || d.h.Cuts.Exchanges[e].Broken != "" || d.tokens()+d.h.exchangeTokens(e) > target); e-- {
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
		// The first length that is too much.
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

// readmitLost is readmit for a draft that fills less than an eighth of the target's room for
// messages; where that is not enough, elided replies get back what there is room for. Usual
// cuts end nearer to the target and have one gap: small exchanges from before it do not come
// back.
func (d *draft) readmitLost(target int) {
	nearlyEmpty := func() bool { return d.tokens()-d.h.Base < (target-d.h.Base)/8 }
	if nearlyEmpty() {
		d.readmit(target)
	}
	if nearlyEmpty() {
		d.relax(target-d.tokens(), elidedReply)
	}
}

// admit makes the legal set nearest to keeping the exchanges from first to last too.
func (d *draft) admit(first, last int) {
	d.settle(func(e int) bool { return d.keep[e] || e >= first && e <= last && d.h.Cuts.Exchanges[e].Broken == "" }, "")
}
