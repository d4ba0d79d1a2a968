package session

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// sent is a heartbeat without its answer.
type sent struct {
	held      *Held
	heartbeat *perdurev1.StreamHeartbeat
	reply     Reply
}

// queue holds each claim once, in order.
type queue struct {
	order []*Held
	known map[string]bool
}

func (q *queue) put(held *Held) {
	if q.known == nil {
		q.known = map[string]bool{}
	}
	if !q.known[held.Token] {
		q.known[held.Token] = true
		q.order = append(q.order, held)
	}
}

func (q *queue) remove(held *Held) {
	if q.known[held.Token] {
		delete(q.known, held.Token)
		q.order = slices.DeleteFunc(q.order, func(other *Held) bool { return other == held })
	}
}

func (q *queue) pop() *Held {
	if len(q.order) == 0 {
		return nil
	}
	held := q.order[0]
	q.order[0] = nil
	q.order = q.order[1:]
	delete(q.known, held.Token)
	return held
}

// outgoing is everything unsaid and unanswered. It survives the stream: a new one says again what was not answered.
type outgoing struct {
	results queue
	active  queue
	again   []*sent
	nextID  int64

	sentResults    map[int64]*Held
	sentHeartbeats map[int64]*sent
	// resting are heartbeats that could not be stored, and are sent again after a pause.
	resting map[*sent]bool

	renewWanted bool
	drainWanted bool
	drainGrace  time.Duration
	drained     bool
}

// forget: the claim is lost: nothing more is said of it, and what waits for answers learns why.
func (o *outgoing) forget(held *Held, err error) {
	o.results.remove(held)
	o.active.remove(held)
	for _, save := range held.saves {
		save.reply(err)
	}
	held.saves, held.frames = nil, nil
	for number, found := range o.sentHeartbeats {
		if found.held == held {
			delete(o.sentHeartbeats, number)
			found.tell(err)
		}
	}
	for found := range o.resting {
		if found.held == held {
			delete(o.resting, found)
			found.tell(err)
		}
	}
	o.again = slices.DeleteFunc(o.again, func(found *sent) bool {
		if found.held != held {
			return false
		}
		found.tell(err)
		return true
	})
}

// end: nobody waits any longer for an answer that cannot come, of a claim that is settled neither.
func (o *outgoing) end(err error) {
	left := slices.Clone(o.active.order)
	for _, found := range o.sentHeartbeats {
		left = append(left, found.held)
	}
	for found := range o.resting {
		left = append(left, found.held)
	}
	for _, found := range o.again {
		left = append(left, found.held)
	}
	for _, held := range left {
		o.forget(held, err)
	}
}

func (s *sent) tell(err error) {
	if s.reply != nil {
		s.reply(err)
	}
}

// beginStream: what the old stream did not answer is said again, in its order; credit starts from nothing.
func (s *Session) beginStream() {
	o := &s.out
	var unanswered []*sent
	for _, number := range sortedKeys(o.sentHeartbeats) {
		unanswered = append(unanswered, o.sentHeartbeats[number])
	}
	o.again = append(unanswered, o.again...)
	clear(o.sentHeartbeats)
	for _, number := range sortedKeys(o.sentResults) {
		o.results.put(o.sentResults[number])
	}
	clear(o.sentResults)
	for _, pool := range s.pools {
		pool.offered = 0
	}
	for _, held := range s.claims {
		held.namedIn = 0
	}
	o.renewWanted = true
	if o.drained {
		o.drained, o.drainWanted = false, true
	}
}

func sortedKeys[V any](found map[int64]V) []int64 {
	keys := make([]int64, 0, len(found))
	for key := range found {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// next is the next message for the server; nil: there is nothing to say. A renewal comes first: it is what the lease hangs on.
func (s *Session) next(connection *connection) *perdurev1.ClaimRequest {
	if connection != s.current {
		return nil // a newer stream says everything from now on
	}
	o := &s.out
	if o.renewWanted {
		o.renewWanted = false
		return s.renewal(connection)
	}
	if o.drainWanted {
		o.drainWanted, o.drained = false, true
		drain := &perdurev1.Drain{Grace: durationpb.New(o.drainGrace)}
		return &perdurev1.ClaimRequest{Message: &perdurev1.ClaimRequest_Drain{Drain: drain}}
	}
	// Frames and checkpoints before results: a settled claim takes no more of them.
	if message := s.heartbeats(); message != nil {
		return message
	}
	if message := s.settlements(connection); message != nil {
		return message
	}
	if o.drained {
		return nil
	}
	for _, pool := range s.pools {
		if missing := pool.missingCredit(); missing > 0 {
			pool.offered += missing
			credit := &perdurev1.Credit{Pool: pool.name, Count: int32(missing)}
			return &perdurev1.ClaimRequest{Message: &perdurev1.ClaimRequest_Credit{Credit: credit}}
		}
	}
	return nil
}

func (s *Session) renewal(connection *connection) *perdurev1.ClaimRequest {
	connection.lastRenewID++
	connection.renews[connection.lastRenewID] = time.Now()
	renew := &perdurev1.Renew{RenewId: connection.lastRenewID}
	// What has sent its result is known by that; its answer may be on the way, and the server may have forgotten it.
	answered := map[*Held]bool{}
	for _, held := range s.out.sentResults {
		answered[held] = true
	}
	for _, held := range s.claims {
		if held.isLost || answered[held] {
			continue
		}
		entry := &perdurev1.HeldClaim{ClaimToken: held.Token}
		held.acknowledged = true
		if held.namedIn == 0 {
			held.namedIn = renew.RenewId
		}
		if held.Claim.GetSilenceTimeout() != nil {
			entry.SinceAlive = durationpb.New(time.Since(s.epoch) - time.Duration(held.aliveAt.Load()))
		}
		renew.Held = append(renew.Held, entry)
	}
	return &perdurev1.ClaimRequest{Message: &perdurev1.ClaimRequest_Renew{Renew: renew}}
}

func (s *Session) heartbeats() *perdurev1.ClaimRequest {
	heartbeats := &perdurev1.Heartbeats{}
	for size := 0; size <= wire.StreamMessageBytes; {
		found := s.nextHeartbeat()
		if found == nil {
			break
		}
		s.out.nextID++
		s.out.sentHeartbeats[s.out.nextID] = found
		found.held.acknowledged = true
		// A message of its own: the one that a broken stream was given may still be on its way to the wire.
		heartbeats.Heartbeats = append(heartbeats.Heartbeats, &perdurev1.StreamHeartbeat{
			ClaimToken: found.heartbeat.ClaimToken, Checkpoint: found.heartbeat.Checkpoint,
			CheckpointNo: found.heartbeat.CheckpointNo, Frames: found.heartbeat.Frames, HeartbeatId: s.out.nextID,
		})
		size += proto.Size(found.heartbeat)
	}
	if len(heartbeats.Heartbeats) == 0 {
		return nil
	}
	return &perdurev1.ClaimRequest{Message: &perdurev1.ClaimRequest_Heartbeats{Heartbeats: heartbeats}}
}

func (s *Session) nextHeartbeat() *sent {
	if len(s.out.again) > 0 {
		found := s.out.again[0]
		s.out.again = s.out.again[1:]
		return found
	}
	for len(s.out.active.order) > 0 {
		if found := heartbeatOf(s.out.active.order[0]); found != nil {
			return found
		}
		s.out.active.pop()
	}
	return nil
}

// heartbeatOf is the next frames, else the next checkpoint of one claim: at most 100 frames, about 128 KiB. Nil: neither.
func heartbeatOf(held *Held) *sent {
	heartbeat := &perdurev1.StreamHeartbeat{ClaimToken: held.Token}
	if len(held.frames) > 0 {
		count := 0
		for size := 0; count < len(held.frames) && count < wire.FramesPerHeartbeat && size < wire.StreamResultBytes/2; count++ {
			size += proto.Size(held.frames[count])
		}
		heartbeat.Frames = held.frames[:count:count]
		held.frames = held.frames[count:]
		return &sent{held, heartbeat, nil}
	}
	if len(held.saves) > 0 {
		first := held.saves[0]
		held.saves = held.saves[1:]
		heartbeat.Checkpoint, heartbeat.CheckpointNo = first.checkpoint, first.number
		return &sent{held, heartbeat, first.reply}
	}
	return nil
}

func (s *Session) settlements(connection *connection) *perdurev1.ClaimRequest {
	results := &perdurev1.Results{}
	for size := 0; size <= wire.StreamMessageBytes; {
		held := s.out.results.pop()
		if held == nil {
			break
		}
		if held.result == nil {
			continue
		}
		s.stamp(held, connection)
		results.Results = append(results.Results, held.result)
		size += proto.Size(held.result)
	}
	if len(results.Results) == 0 {
		return nil
	}
	return &perdurev1.ClaimRequest{Message: &perdurev1.ClaimRequest_Results{Results: results}}
}

func (s *Session) stamp(held *Held, connection *connection) {
	s.out.nextID++
	// A message of its own: the one that a broken stream was given may still be on its way to the wire.
	result := &perdurev1.Result{
		ClaimToken: held.Token, Outcome: held.result.Outcome, LastFrameSeq: held.result.LastFrameSeq, ResultId: s.out.nextID,
	}
	// Only a claim of this very stream is known to the pool whose credit its slot becomes.
	result.WantNext = !s.out.drained && held.connectionNo == connection.number && held.pool.missingCredit() > 0
	if result.WantNext {
		held.pool.offered++
	}
	held.result = result
	held.connectionNo = -1 // said again, it offers nothing: its slot is credit already
	held.acknowledged = true
	s.out.sentResults[s.out.nextID] = held
}
