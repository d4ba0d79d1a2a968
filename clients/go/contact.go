package perdure

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/perdure/perdure/clients/go/internal/wire"
)

// contact is how a client stays in contact: what every call says of itself, its deadline, what is tried again and when.
type contact struct {
	config         Config
	timeout        time.Duration
	connectTimeout time.Duration
	tokens         *tokenFile
	dialOptions    []grpc.DialOption
	// reached: a server has answered; from then on UNAVAILABLE is worth waiting for.
	reached atomic.Bool
}

// Workers and callers spread over the addresses of a name, and a new connection tries another one.
const serviceConfig = `{"loadBalancingConfig": [{"pick_first": {"shuffleAddressList": true}}]}`

// dial makes a connection that nothing else uses; it is opened with its first call.
func (c *contact) dial(extra ...grpc.DialOption) (*grpc.ClientConn, error) {
	transport, err := c.config.TLS.transport()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithUserAgent(clientName + "/" + Version),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithDisableRetry(), // the interceptor tries again, within one deadline and with the server's RetryInfo
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: wire.KeepaliveInterval, Timeout: wire.KeepaliveTimeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MessageBytes), grpc.MaxCallSendMsgSize(wire.MessageBytes)),
	}
	connection, err := grpc.NewClient(c.config.Address, append(append(options, c.dialOptions...), extra...)...)
	if err != nil {
		return nil, setting("the address %q cannot be used: %v", c.config.Address, err)
	}
	return connection, nil
}

// described is the context with the metadata of every call: the bearer token, and the caller's trace context.
func (c *contact) described(ctx context.Context) context.Context {
	token := c.config.Token
	if c.tokens != nil {
		token = c.tokens.current()
	}
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	for key, value := range carrier {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	return ctx
}

// bounded is the context with the client's timeout, unless its own deadline is sooner.
func (c *contact) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.timeout)
}

// unary is the interceptor of all unary calls.
func (c *contact) unary(
	ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if _, ok := ctx.Deadline(); !ok {
		bounded, cancel := c.bounded(ctx)
		defer cancel()
		ctx = bounded
	}
	isOnce, codec := isOnce(options), c.config.Codec
	if isOnce {
		codec = nil
	}
	message, err := sealed(request.(proto.Message), codec)
	if err != nil {
		return err
	}
	began, interval := time.Now(), wire.RetryInitialInterval
	for {
		err := unasked(ctx, connection, errorOf(invoke(c.described(ctx), method, message, reply, connection, options...)))
		if err == nil {
			c.reached.Store(true)
			if codec != nil {
				unseal(reply.(proto.Message), codec)
			}
			return nil
		}
		pause, again := c.pause(ctx, err, began, interval)
		if !again || isOnce || !isRepeatable(method) {
			return c.explained(err)
		}
		if !sleep(ctx, pause) {
			return errorOf(status.FromContextError(ctx.Err()).Err())
		}
		interval = min(wire.RetryMaxInterval, interval*2)
	}
}

// Once is an option of one call on [Client.Conn]: it is made once, and values travel as they are, past the codec.
func Once() grpc.CallOption { return once{} }

type once struct{ grpc.EmptyCallOption }

func isOnce(options []grpc.CallOption) bool {
	return slices.ContainsFunc(options, func(option grpc.CallOption) bool {
		_, ok := option.(once)
		return ok
	})
}

// unasked is a CANCELLED that neither the context nor a closed client has brought about, as UNAVAILABLE: a server with too many
// new calls says so, and a proxy that gives up, and it is no less passing than a broken connection. Other errors are what they are.
func unasked(ctx context.Context, connection *grpc.ClientConn, err error) error {
	var found *Error
	if !errors.As(err, &found) || found.Code != codes.Canceled || ctx.Err() != nil || connection.GetState() == connectivity.Shutdown {
		return err
	}
	return cutOnTheWay(found)
}

// cutOnTheWay is what is said of a CANCELLED where this program has cancelled nothing.
func cutOnTheWay(found *Error) *Error {
	return &Error{
		Message: "the call was cut by the server or on the way there: " + found.Message,
		Reason:  found.Reason, Code: codes.Unavailable, Facts: found.Facts, RetryAfter: found.RetryAfter,
	}
}

// isRepeatable: UNAVAILABLE is the one code that may be retried blindly, where an id makes a repeat harmless.
func isRepeatable(method string) bool {
	switch method {
	case "/perdure.v1.WorkerService/Complete", "/perdure.v1.WorkerService/Heartbeat", "/perdure.v1.WorkerService/RenewClaims":
		return true
	}
	return strings.HasPrefix(method, "/perdure.v1.WorkflowService/") || strings.HasPrefix(method, "/perdure.v1.AdminService/")
}

// pause is how long to wait before the next try; false: there is none.
func (c *contact) pause(ctx context.Context, err error, began time.Time, interval time.Duration) (time.Duration, bool) {
	var found *Error
	if !errors.As(err, &found) || found.Code != codes.Unavailable {
		c.note(err)
		return 0, false
	}
	c.note(err)
	if found.Reason == "" && definiteFault(found.Message) != "" {
		return 0, false
	}
	pause := max(wire.Jittered(interval), found.RetryAfter)
	if !c.reached.Load() && time.Since(began)+pause >= c.connectTimeout {
		return 0, false
	}
	deadline, ok := ctx.Deadline()
	return pause, !ok || time.Until(deadline) > pause
}

// note: whatever is no UNAVAILABLE of the connection's own comes from a server.
func (c *contact) note(err error) {
	var found *Error
	if !errors.As(err, &found) {
		return
	}
	switch found.Code {
	case codes.OK, codes.Canceled, codes.DeadlineExceeded:
		return
	case codes.Unavailable:
		if found.Reason == "" {
			return
		}
	}
	c.reached.Store(true)
}

// explained is the error; where no server was reached, with what to do about it.
func (c *contact) explained(err error) error {
	var found *Error
	if !errors.As(err, &found) || found.Code != codes.Unavailable || found.Reason != "" {
		return err
	}
	if fault := handshakeFault(found.Message, c.config.TLS != nil, c.reached.Load()); fault != "" {
		found.Message = c.config.Address + ": " + fault + " (" + found.Message + ")"
		return err
	}
	if !c.reached.Load() {
		found.Message = "no server at " + c.config.Address + ": " + found.Message + "; start one by `perdure dev`, or set PERDURE_ADDRESS"
	}
	return err
}

// stream is the interceptor of all streams; none is tried again here.
func (c *contact) stream(
	ctx context.Context, desc *grpc.StreamDesc, connection *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	codec := c.config.Codec
	told := func(err error) error { return unasked(ctx, connection, errorOf(err)) }
	if isOnce(options) {
		codec = nil
	}
	found, err := open(c.described(ctx), desc, connection, method, options...)
	if err != nil {
		err = told(err)
		c.note(err)
		return nil, err
	}
	return &typedStream{found, c, codec, told}, nil
}

// typedStream gives typed errors, and puts values through the codec.
type typedStream struct {
	grpc.ClientStream
	contact *contact
	codec   Codec
	// told is the error as its caller is told of it.
	told func(error) error
}

func (s *typedStream) SendMsg(message any) error {
	found, err := sealed(message.(proto.Message), s.codec)
	if err != nil {
		return err
	}
	err = s.ClientStream.SendMsg(found)
	if err == io.EOF {
		return err // RecvMsg tells why
	}
	return s.told(err)
}

func (s *typedStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err == io.EOF {
		return err
	}
	if err != nil {
		err = s.told(err)
		s.contact.note(err)
		return err
	}
	s.contact.reached.Store(true)
	if s.codec != nil {
		unseal(message.(proto.Message), s.codec)
	}
	return nil
}

// sleep waits; false: the context ended before.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
