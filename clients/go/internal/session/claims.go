// Package session keeps one worker's stream open and its claims renewed, and decides what becomes of each claim.
//
// A Session is a monitor: one mutex guards the ledger of claims, the pools and what is to be said. Whoever changes something
// under the lock rings the bell (a channel of one place), so no wake-up is lost, and the writer of the current stream takes one
// message after the other under the lock, renewals first. Nothing under the lock blocks: no input or output, no code of users.
package session

import (
	"fmt"
	"sync/atomic"
	"time"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// Reply is called once when a checkpoint is stored (nil) or is not; it must not block.
type Reply func(error)

// phase is how far a held claim is.
type phase int

const (
	// heldBack: received, but not begun: waits for an answered renew, or for a slot.
	heldBack phase = iota
	// running: its activity runs.
	running
	// settling: its result is on the way, or being sent again.
	settling
)

// save is one checkpoint on its way.
type save struct {
	checkpoint *perdurev1.Payload
	number     int64
	reply      Reply
}

// Held is one claim that this worker holds, known by its token: a step that was lost and granted again is another claim.
type Held struct {
	// Claim is what the server granted; whoever runs it may change its payloads.
	Claim *perdurev1.Claim
	// Token is the claim's.
	Token string

	pool         *pool
	connectionNo int64
	phase        phase
	receivedAt   time.Time
	// aliveAt is nanoseconds on the session's clock, so that a sign of life needs no lock.
	aliveAt atomic.Int64

	acknowledged bool
	mustRenew    bool
	namedIn      int64
	hasSlot      bool
	isLost       bool
	cancelReason string

	result   *perdurev1.Result
	refusals int

	checkpointNo int64
	saves        []save
	frames       []*perdurev1.FrameUpload
	framesOpen   int
	lastFrameSeq int64
}

// String says which claim it is, without its token.
func (h *Held) String() string {
	workflow := h.Claim.GetWorkflow()
	return fmt.Sprintf("%s of %s/%s, attempt %d", h.Claim.GetStep(), workflow.GetWorkflowType(), workflow.GetBusinessKey(), h.Claim.GetAttempt())
}

// Plan is one pool that the worker offers.
type Plan struct {
	// Message is how hello names it; its `pool` and `slots` count here too.
	Message *perdurev1.Pool
}

// pool is the slots of one pool, and what the server was told of them.
type pool struct {
	name  string
	slots int
	// running are slots in use, offered is credit that the server has and has not spent; it all ends with the stream.
	running, offered int
	// waiting are claims that came without a free slot, as can happen after errors.
	waiting []*Held
	// contracts are by step, as the server accepted or computed them.
	contracts map[string]string
}

func (p *pool) hasRoom() bool { return p.running < p.slots }

// missingCredit is how many slots are free and not offered.
func (p *pool) missingCredit() int {
	return max(0, p.slots-p.running-len(p.waiting)-p.offered)
}

func (p *pool) forget(held *Held) {
	for index, waiting := range p.waiting {
		if waiting == held {
			p.waiting = append(p.waiting[:index], p.waiting[index+1:]...)
			return
		}
	}
}
