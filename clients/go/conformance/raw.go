package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/perdure/perdure/clients/go"
	_ "github.com/perdure/perdure/clients/go/gen/perdure/testing/v1" // its methods can be called by name
)

// rawCall is one call of any RPC.
type rawCall struct {
	id             int64
	method         protoreflect.MethodDescriptor
	path           string
	requests       []json.RawMessage
	keepOpen, tell bool
	take, hold     int64
	input, output  protoreflect.MessageType
	connection     grpc.ClientConnInterface
	driver         *driver
}

func (d *driver) call(ctx context.Context, told *fields) (any, error) {
	client, err := d.client(told)
	if err != nil {
		return nil, err
	}
	made, err := rawCallOf(told)
	if err != nil {
		return nil, err
	}
	made.connection, made.driver = client.Conn(), d
	ctx, cancel := context.WithCancel(ctx)
	if told.has("timeout_ms") {
		ctx, cancel = context.WithTimeout(ctx, told.milliseconds("timeout_ms"))
	}
	defer cancel()
	if made.method.IsStreamingServer() || made.method.IsStreamingClient() {
		return made.stream(ctx)
	}
	return made.unary(ctx)
}

func rawCallOf(told *fields) (*rawCall, error) {
	path := told.text("rpc")
	service, name, _ := strings.Cut(path, "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return nil, usage("no such RPC: %s", path)
	}
	methods, ok := found.(protoreflect.ServiceDescriptor)
	if !ok || methods.Methods().ByName(protoreflect.Name(name)) == nil {
		return nil, usage("no such RPC: %s", path)
	}
	made := &rawCall{
		id: told.id, method: methods.Methods().ByName(protoreflect.Name(name)), path: "/" + path, keepOpen: told.flag("keep_open"),
		tell: told.flag("tell"), take: told.integer("take"), hold: told.integer("hold"),
	}
	if !told.has("hold") {
		made.hold = -1
	}
	if err := told.read("requests", &made.requests); err != nil {
		return nil, err
	}
	if !told.has("requests") {
		request := told.raw["request"]
		if request == nil {
			request = json.RawMessage("{}")
		}
		made.requests = []json.RawMessage{request}
	}
	if made.input, err = protoregistry.GlobalTypes.FindMessageByName(made.method.Input().FullName()); err != nil {
		return nil, err
	}
	made.output, err = protoregistry.GlobalTypes.FindMessageByName(made.method.Output().FullName())
	return made, err
}

func (c *rawCall) request(index int) (proto.Message, error) {
	made := c.input.New().Interface()
	if err := protojson.Unmarshal(c.requests[index], made); err != nil {
		return nil, usage("the request is no %s: %v", c.method.Input().FullName(), err)
	}
	return made, nil
}

func plain(message proto.Message) (json.RawMessage, error) {
	text, err := protojson.Marshal(message)
	return json.RawMessage(text), err
}

func (c *rawCall) unary(ctx context.Context) (any, error) {
	request, err := c.request(0)
	if err != nil {
		return nil, err
	}
	answer := c.output.New().Interface()
	if err := c.connection.Invoke(ctx, c.path, request, answer, perdure.Once()); err != nil {
		return nil, err
	}
	text, err := plain(answer)
	return object{"response": text}, err
}

func (c *rawCall) stream(ctx context.Context) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	desc := &grpc.StreamDesc{StreamName: string(c.method.Name()), ServerStreams: c.method.IsStreamingServer(), ClientStreams: c.method.IsStreamingClient()}
	stream, err := c.connection.NewStream(ctx, desc, c.path, perdure.Once())
	if err != nil {
		return nil, err
	}
	for index := range c.requests {
		request, err := c.request(index)
		if err != nil {
			return nil, err
		}
		if err := stream.SendMsg(request); err != nil && err != io.EOF { // the answer tells why
			return nil, err
		}
	}
	if !c.keepOpen || !c.method.IsStreamingClient() {
		if err := stream.CloseSend(); err != nil {
			return nil, err
		}
	}
	return c.answers(ctx, stream)
}

func (c *rawCall) answers(ctx context.Context, stream grpc.ClientStream) (any, error) {
	answers := []json.RawMessage{}
	c.holdAt(ctx, 0)
	for c.take == 0 || int64(len(answers)) < c.take {
		answer := c.output.New().Interface()
		err := stream.RecvMsg(answer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		text, err := plain(answer)
		if err != nil {
			return nil, err
		}
		answers = append(answers, text)
		if c.tell {
			c.driver.say(object{"event": "call_response", "call": c.id, "response": text})
		}
		c.holdAt(ctx, int64(len(answers)))
	}
	if !c.method.IsStreamingServer() && len(answers) == 1 {
		return object{"response": answers[0], "responses": answers}, nil
	}
	return object{"responses": answers}, nil
}

// holdAt holds the call if it should be held after so many answers.
func (c *rawCall) holdAt(ctx context.Context, count int64) {
	if count == c.hold {
		c.driver.holdCall(ctx, c.id)
	}
}

func (d *driver) holdCall(ctx context.Context, id int64) {
	resumed := make(chan struct{})
	d.mutex.Lock()
	d.held[id] = resumed
	d.mutex.Unlock()
	d.say(object{"event": "call_held", "call": id})
	select {
	case <-resumed:
	case <-ctx.Done():
	case <-time.After(10 * time.Minute):
	}
}

func (d *driver) resumeCall(_ context.Context, told *fields) (any, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	resumed := d.held[told.integer("call")]
	if resumed == nil {
		return nil, usage("no such call is held")
	}
	delete(d.held, told.integer("call"))
	close(resumed)
	return nil, nil
}
