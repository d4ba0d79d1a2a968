package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// connection is one Claim stream, with a channel and so a TCP connection of its own: a half-dead one takes no other down with it.
type connection struct {
	channel *grpc.ClientConn
	stream  grpc.BidiStreamingClient[perdurev1.ClaimRequest, perdurev1.ClaimResponse]
	ctx     context.Context
	cancel  context.CancelFunc

	number        int64
	renewInterval time.Duration
	helloSent     time.Time
	// bell wakes the writer; it holds one ring, so that none is lost. Each stream has its own: two that listen to one would
	// take each other's rings.
	bell chan struct{}

	// Under the session's lock.
	lastRenewID int64
	renews      map[int64]time.Time
	// isStale: a newer hello was said: claims that still come here must be dropped.
	isStale bool

	// leaving is closed by go_away: open another one.
	leaving     chan struct{}
	leavingOnce sync.Once
}

// open dials, says hello and waits for welcome: 10 s at most, and not beyond the session's end. The stream lives until close.
func open(s *Session, hello *perdurev1.Hello) (*connection, *perdurev1.Welcome, error) {
	channel, err := s.config.Dial()
	if err != nil {
		return nil, nil, err
	}
	made := &connection{
		channel: channel, bell: make(chan struct{}, 1), renews: map[int64]time.Time{}, leaving: make(chan struct{}),
	}
	made.ctx, made.cancel = context.WithCancel(s.lifetime)
	late := time.AfterFunc(wire.HandshakeTimeout, made.cancel)
	forget := context.AfterFunc(s.finished, made.cancel)
	welcome, err := made.shakeHands(&s.config, hello)
	if !late.Stop() {
		err = status.Errorf(codes.Unavailable, "no welcome within %s", wire.HandshakeTimeout)
	}
	if !forget() && err == nil {
		err = status.Error(codes.Canceled, "the worker stops")
	}
	if err != nil {
		made.close()
		return nil, nil, err
	}
	return made, welcome, nil
}

func (c *connection) ring() {
	select {
	case c.bell <- struct{}{}:
	default: // it rings already
	}
}

func (c *connection) shakeHands(config *Config, hello *perdurev1.Hello) (*perdurev1.Welcome, error) {
	stream, err := perdurev1.NewWorkerServiceClient(c.channel).Claim(config.Describe(c.ctx))
	if err != nil {
		return nil, err
	}
	c.stream, c.helloSent = stream, time.Now()
	if err := stream.Send(&perdurev1.ClaimRequest{Message: &perdurev1.ClaimRequest_Hello{Hello: hello}}); err != nil && err != io.EOF {
		return nil, err
	}
	first, err := stream.Recv() // after io.EOF of Send this tells why
	if err == io.EOF || (err == nil && first.GetWelcome() == nil) {
		return nil, status.Error(codes.Unavailable, "the server ended the stream without a welcome")
	}
	if err != nil {
		return nil, err
	}
	welcome := first.GetWelcome()
	c.number = welcome.GetConnectionNo()
	c.renewInterval = max(200*time.Millisecond, welcome.GetRenewInterval().AsDuration())
	return welcome, nil
}

// run reads and writes until the stream ends; nil: the server ended it well. All its goroutines are over when it returns.
func (c *connection) run(s *Session) error {
	defer c.close()
	failed := make(chan error, 3)
	var all sync.WaitGroup
	for _, work := range []func(*Session) error{c.read, c.write, c.keepAlive} {
		all.Add(1)
		go func() {
			defer all.Done()
			failed <- work(s)
		}()
	}
	err := <-failed
	if errors.Is(err, errStreamOver) {
		err = <-failed // the writer only knows that the stream is over; the reader learns why a moment later
	}
	c.cancel()
	all.Wait()
	return err
}

var errStreamOver = errors.New("the stream is over")

func (c *connection) read(s *Session) error {
	for {
		message, err := c.stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		s.received(c, message)
	}
}

func (c *connection) write(s *Session) error {
	for {
		s.mutex.Lock()
		message := s.next(c)
		s.mutex.Unlock()
		if message == nil {
			select {
			case <-c.bell:
				continue
			case <-s.goodbye:
				return c.finish()
			case <-c.ctx.Done():
				return c.ctx.Err()
			}
		}
		if err := c.stream.Send(message); err != nil {
			return errStreamOver
		}
	}
}

// finish says that nothing more comes, and waits for the server to end the stream.
func (c *connection) finish() error {
	if err := c.stream.CloseSend(); err != nil {
		return errStreamOver
	}
	select {
	case <-c.ctx.Done():
	case <-time.After(wire.GoodbyeTimeout):
	}
	return nil
}

// keepAlive asks for renewals at the server's interval, and notices that the stream is dead: a write may hang without an error
// for as long as the kernel likes, and only an answered renewal is a proof of life.
func (c *connection) keepAlive(s *Session) error {
	next := time.Now().Add(c.renewInterval)
	timer := time.NewTimer(c.renewInterval)
	defer timer.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-timer.C:
		}
		now := time.Now()
		s.mutex.Lock()
		dead, isWaiting := c.deadAt()
		if isWaiting && !now.Before(dead) {
			s.mutex.Unlock()
			return status.Error(codes.Unavailable, "renewals stay unanswered: the stream is dead")
		}
		if !now.Before(next) {
			next = now.Add(c.renewInterval)
			if c == s.current {
				s.out.renewWanted = true
				s.wake()
			}
		}
		s.mutex.Unlock()
		wait := next.Sub(now)
		if isWaiting {
			wait = min(wait, dead.Sub(now))
		}
		timer.Reset(max(wait, time.Millisecond))
	}
}

// deadAt is when the oldest renew has stayed unanswered for too long; false: none is unanswered.
func (c *connection) deadAt() (time.Time, bool) {
	var oldest time.Time
	for _, at := range c.renews {
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest.Add(time.Duration(wire.MissedRenewals * float64(c.renewInterval))), !oldest.IsZero()
}

// answered is when the renew that is now answered was sent; false for an unknown one. Older ones count as answered with it.
func (c *connection) answered(renewID int64) (time.Time, bool) {
	at, ok := c.renews[renewID]
	for id := range c.renews {
		if id <= renewID {
			delete(c.renews, id)
		}
	}
	return at, ok
}

func (c *connection) leave() { c.leavingOnce.Do(func() { close(c.leaving) }) }

// close ends the stream at once and closes its connection.
func (c *connection) close() {
	c.cancel()
	_ = c.channel.Close() // it fails only if it is closed already
}

func (c *connection) String() string { return fmt.Sprintf("connection %d", c.number) }
