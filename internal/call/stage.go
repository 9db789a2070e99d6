package call

import "time"

// Stage reports how long the engine worked on one part of a call. It contains no text of
// the call.
type Stage struct {
	// Call is the id of the call, as in Event.
	Call string
	// Name is one of the stages below.
	Name  string
	Began time.Time
	Took  time.Duration
}

// The stages of a call, in their order. The client waits for StageBegin and StageAgain;
// the stages after the answer began run beside it.
const (
	// StageBegin is Begin as a whole: StageRead, StageFind and StagePlan.
	StageBegin = "begin"
	// StageRead: the request was parsed. StageFind: its conversation was found.
	// StagePlan: it was decided what is sent, including StageRecall, which is absent if
	// nothing was searched for.
	StageRead   = "read"
	StageFind   = "find"
	StagePlan   = "plan"
	StageRecall = "recall"
	// StageAgain: another body was made after the provider refused one.
	StageAgain = "again"
	// StageReply: the answer was read. StageStore: the call was written; time in the
	// queue is not included.
	StageReply = "reply"
	StageStore = "store"
)

// stageBegins returns the time, or zero if nobody receives stages.
func (r *Engine) stageBegins() (now time.Time) {
	if r.o.Stages != nil {
		now = time.Now()
	}
	return now
}

// stageEnds reports a stage that began at a time of stageBegins.
func (r *Engine) stageEnds(call, stage string, began time.Time) {
	if r.o.Stages != nil {
		r.o.Stages(Stage{Call: call, Name: stage, Began: began, Took: time.Since(began)})
	}
}
