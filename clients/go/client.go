package perdure

import (
	"context"
	"log/slog"
	"os"
	"time"

	"google.golang.org/grpc"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// Client talks to a Perdure server. Its methods may be called at the same time.
//
// Every call has a deadline: that of its context, and never more than the client's timeout (30 s). Until then UNAVAILABLE is
// tried again, so that a restart of the server is no error. Before the first answer that takes no longer than 5 s: probably
// no server runs at that address.
type Client struct {
	contact    *contact
	connection *grpc.ClientConn
	workflows  perdurev1.WorkflowServiceClient
	workers    perdurev1.WorkerServiceClient
	admin      perdurev1.AdminServiceClient
	logger     *slog.Logger
}

// DialOption changes what [Dial] makes.
type DialOption interface{ applyToDial(*dialing) }

type dialing struct {
	given
	timeout, connectTimeout time.Duration
	logger                  *slog.Logger
	options                 []grpc.DialOption
}

type dialOption func(*dialing)

func (o dialOption) applyToDial(to *dialing) { o(to) }

// WithAddress says where the server is: host:port, or any gRPC target.
func WithAddress(address string) DialOption {
	return dialOption(func(to *dialing) { to.address = address })
}

// WithNamespace is the namespace of everything that names none.
func WithNamespace(namespace string) DialOption {
	return dialOption(func(to *dialing) { to.namespace = namespace })
}

// WithToken is the bearer token of every call.
func WithToken(token string) DialOption { return dialOption(func(to *dialing) { to.token = token }) }

// WithTokenFile is the file of the bearer token; it is read again when it changes.
func WithTokenFile(path string) DialOption {
	return dialOption(func(to *dialing) { to.tokenFile = path })
}

// WithTLS says whom to trust and what to show.
func WithTLS(tls TLS) DialOption { return dialOption(func(to *dialing) { to.tls = &tls }) }

// WithProfile takes settings from a profile, as PERDURE_PROFILE does.
func WithProfile(name string) DialOption {
	return dialOption(func(to *dialing) { to.profile = name })
}

// WithCodec encodes all values before they leave.
func WithCodec(codec Codec) DialOption { return dialOption(func(to *dialing) { to.codec = codec }) }

// WithTimeout bounds a unary call with all its retries. Default: 30 s.
func WithTimeout(timeout time.Duration) DialOption {
	return dialOption(func(to *dialing) { to.timeout = timeout })
}

// WithConnectTimeout is how long UNAVAILABLE is tried again before a server has ever answered. Default: 5 s.
func WithConnectTimeout(timeout time.Duration) DialOption {
	return dialOption(func(to *dialing) { to.connectTimeout = timeout })
}

// WithLogger is where workers of the client say what happens to them. Default: slog.Default().
func WithLogger(logger *slog.Logger) DialOption {
	return dialOption(func(to *dialing) { to.logger = logger })
}

// WithGRPC adds options of gRPC's own to every connection, such as interceptors or other transport credentials.
func WithGRPC(options ...grpc.DialOption) DialOption {
	return dialOption(func(to *dialing) { to.options = append(to.options, options...) })
}

// Dial makes a client. Without options it talks to PERDURE_ADDRESS, else to `perdure dev` on this machine; see [Config].
// It asks no server: the connection opens with the first call. An error is about a setting or a file that it names.
func Dial(options ...DialOption) (*Client, error) {
	made := dialing{timeout: wire.CallTimeout, connectTimeout: wire.FirstContactTimeout, logger: slog.Default()}
	for _, option := range options {
		option.applyToDial(&made)
	}
	config, err := resolve(made.given, os.Getenv)
	if err != nil {
		return nil, err
	}
	found := &contact{config: config, timeout: made.timeout, connectTimeout: made.connectTimeout, dialOptions: made.options}
	if config.TokenFile != "" {
		if found.tokens, err = openTokenFile(config.TokenFile); err != nil {
			return nil, err
		}
	}
	connection, err := found.dial(grpc.WithChainUnaryInterceptor(found.unary), grpc.WithChainStreamInterceptor(found.stream))
	if err != nil {
		return nil, err
	}
	return &Client{
		contact:    found,
		connection: connection,
		workflows:  perdurev1.NewWorkflowServiceClient(connection),
		workers:    perdurev1.NewWorkerServiceClient(connection),
		admin:      perdurev1.NewAdminServiceClient(connection),
		logger:     made.logger,
	}, nil
}

// Close closes the connection; calls that still run end. Workers have connections of their own, and end with their contexts.
func (c *Client) Close() error { return c.connection.Close() }

// Config is where the server is and who asks.
func (c *Client) Config() Config { return c.contact.config }

// Conn is the client's connection, for the generated stubs: perdurev1.NewAdminServiceClient(client.Conn()). Calls on it have
// deadline, retries, token, trace context, codec and errors as those of the client. Close the client, not this.
func (c *Client) Conn() grpc.ClientConnInterface { return c.connection }

// Run is a handle on a workflow by its name; it asks nobody. See [InRound] and [ExpectedFence] for options.
func (c *Client) Run(workflowType, key string, options ...RunOption) *Run {
	run := &Run{client: c, ref: Ref{Namespace: c.Config().Namespace, Type: workflowType, Key: key}}
	for _, option := range options {
		option.applyToRun(&run.ref)
	}
	return run
}

// RunOption says more exactly which run a handle means.
type RunOption interface{ applyToRun(*Ref) }

type runOption func(*Ref)

func (o runOption) applyToRun(to *Ref) { o(to) }

// InRound names one round of the key. Without it: the current one.
func InRound(round int64) RunOption { return runOption(func(to *Ref) { to.Round = round }) }

// SignalByToken sends a signal by a claim's wake token, as a webhook does; by name use [Run.Signal].
// It returns when the signal is stored. A token of another round: FENCED.
func (c *Client) SignalByToken(ctx context.Context, wakeToken, name string, value any, options ...SignalOption) (Signalled, error) {
	request := &perdurev1.SignalRequest{Target: &perdurev1.SignalRequest_WakeToken{WakeToken: wakeToken}, SignalName: name}
	return c.signal(ctx, request, value, options)
}

// SignalOption changes one signal.
type SignalOption interface {
	applyToSignal(*perdurev1.SignalRequest)
}

type signalOption func(*perdurev1.SignalRequest)

func (o signalOption) applyToSignal(to *perdurev1.SignalRequest) { o(to) }

// SignalID makes a signal count once, however often it is sent. Without it: a new one.
func SignalID(id string) SignalOption {
	return signalOption(func(to *perdurev1.SignalRequest) { to.SignalId = id })
}

// Signalled is what became of a signal that is stored.
type Signalled struct {
	// Duplicate: it was stored before.
	Duplicate bool
	// Consumed: it ended a wait in the same write; otherwise it is in the inbox.
	Consumed bool
	// ID is what makes it count once.
	ID string
}

func (c *Client) signal(ctx context.Context, request *perdurev1.SignalRequest, value any, options []SignalOption) (Signalled, error) {
	var err error
	if request.Payload, err = encode(value); err != nil {
		return Signalled{}, err
	}
	for _, option := range options {
		option.applyToSignal(request)
	}
	if request.SignalId == "" {
		request.SignalId = newID()
	}
	ctx, cancel := c.contact.bounded(ctx)
	defer cancel()
	answer, err := c.workflows.Signal(ctx, request)
	if err != nil {
		return Signalled{}, err
	}
	return Signalled{answer.GetDuplicate(), answer.GetConsumed(), request.GetSignalId()}, nil
}
