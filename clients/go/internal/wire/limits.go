package wire

import "time"

// Numbers of the client and the worker, in one place; the same in all of Perdure's libraries. Sizes are bytes.
const (
	// CallTimeout bounds a unary call with all its retries, unless the client is told otherwise.
	CallTimeout = 30 * time.Second
	// FirstContactTimeout is how long UNAVAILABLE is retried before the client has ever reached a server.
	FirstContactTimeout  = 5 * time.Second
	RetryInitialInterval = 100 * time.Millisecond
	RetryMaxInterval     = 2 * time.Second
	// ResultWaitTimeout is that of one WaitForResult; the server answers within 60 s at most.
	ResultWaitTimeout = 45 * time.Second
	// CallMarginTimeout is what a call that waits on purpose gets beyond its wait.
	CallMarginTimeout = 10 * time.Second
	// MessageBytes is the largest answer that is taken; the server's own bounds are far below.
	MessageBytes = 64 << 20

	KeepaliveInterval = 30 * time.Second
	KeepaliveTimeout  = 10 * time.Second

	// WatchIdleTimeout: a watch that hears nothing for so long, not even a keep-alive, is opened again.
	WatchIdleTimeout = 60 * time.Second

	// ConnectTimeout is how long a worker waits for its first welcome before it gives up.
	ConnectTimeout = 10 * time.Second
	// HandshakeTimeout is from the dial to welcome; a handshake without a bound can hang for good.
	HandshakeTimeout         = 10 * time.Second
	ReconnectInitialInterval = 200 * time.Millisecond
	ReconnectMaxInterval     = 5 * time.Second
	// MissedRenewals: a stream on which a renew stays unanswered for so many intervals is dead.
	MissedRenewals = 1.5
	// AcknowledgeDelay: a claim that still runs after it is acknowledged by a renew, so that a step that kills its worker
	// is charged; a faster one is acknowledged by its result.
	AcknowledgeDelay   = 20 * time.Millisecond
	FailureLogInterval = 30 * time.Second

	// StreamResultBytes: larger results and checkpoints go by unary calls, so that they never delay a renewal.
	StreamResultBytes = 240 << 10
	// StreamMessageBytes: results and heartbeats are gathered into messages of about this size.
	StreamMessageBytes = 1 << 20
	FrameBytes         = 64 << 10
	FramesPerHeartbeat = 100
	// FrameBacklog: more frames of one claim that wait for a server are dropped, before they are numbered.
	FrameBacklog        = 10_000
	FailureMessageBytes = 4 << 10
	FailureTypeBytes    = 128
	FailureStackBytes   = 16 << 10

	// CodecRetryInterval is when an attempt whose values could not be decoded is tried again.
	CodecRetryInterval = 10 * time.Second

	// DefaultSlots of a pool that is given no number.
	DefaultSlots = 100
	// StopGrace is how long running activities may go on after a stop was asked for, before their claims are given back.
	StopGrace = 30 * time.Second
	// UnwindTimeout is how long an activity that was told to stop may take before the worker goes on without it.
	UnwindTimeout = 5 * time.Second
	// SettleTimeout is how long a stopping worker waits for the server's answers to its last results.
	SettleTimeout = 10 * time.Second
	// GoodbyeTimeout is how long the server may take to end a stream on which nothing more comes.
	GoodbyeTimeout = time.Second
)
