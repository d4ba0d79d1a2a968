// The conformance driver of the Go client: it does what lines of JSON ask for, over the public API of the library.
// tests/conformance/README.md tells what they say.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/perdure/perdure/clients/go"
)

// inOrder is how long a request that should not wait holds back those behind it, so that they take effect in order.
const inOrder = 2 * time.Second

// waiting requests hold nothing back.
var waiting = map[string]bool{"result": true, "stop": true, "call": true, "close": true}

type object = map[string]any

// driver is the whole process: clients, workers and watches by name.
type driver struct {
	out   *bufio.Writer
	write sync.Mutex

	mutex   sync.Mutex
	clients map[string]*perdure.Client
	workers map[string]*working
	watches map[string]*watching
	held    map[int64]chan struct{}
	pools   map[*perdure.Client]*poolLog
}

type handler func(ctx context.Context, fields *fields) (any, error)

func main() {
	made := &driver{
		out: bufio.NewWriter(os.Stdout), clients: map[string]*perdure.Client{}, workers: map[string]*working{},
		watches: map[string]*watching{}, held: map[int64]chan struct{}{}, pools: map[*perdure.Client]*poolLog{},
	}
	ctx, stop := context.WithCancel(context.Background())
	if err := made.read(ctx, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	made.closeAll()
	stop()
}

func (d *driver) read(ctx context.Context, from io.Reader) error {
	lines := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			d.take(ctx, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (d *driver) take(ctx context.Context, line []byte) {
	var head struct {
		ID int64
		Do string
	}
	told := &fields{}
	if err := errors.Join(json.Unmarshal(line, &head), json.Unmarshal(line, &told.raw)); err != nil {
		d.answer(head.ID, nil, usage("not a request: %v", err))
		return
	}
	told.id = head.ID
	handle := d.handlers()[head.Do]
	if handle == nil {
		d.answer(head.ID, nil, usage("no request is called %q", head.Do))
		return
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		ok, err := handle(ctx, told)
		d.answer(head.ID, ok, err)
	}()
	if !waiting[head.Do] {
		select {
		case <-over:
		case <-time.After(inOrder):
		}
	}
}

func (d *driver) handlers() map[string]handler {
	return map[string]handler{
		"hello": d.hello, "open": d.open, "close": d.close,
		"start": d.start, "signal": d.signal, "result": d.result, "get": d.get, "list": d.list, "children": d.children,
		"attempts": d.attempts, "count": d.count, "explain": d.explain, "cancel": d.cancel, "terminate": d.terminate,
		"pause": d.pause, "resume": d.resume, "delete": d.delete, "replay": d.replay, "apply": d.apply, "validate": d.validate,
		"watch": d.watch, "unwatch": d.unwatch,
		"work": d.work, "drain": d.drain, "stop": d.stop, "go_on": d.goOn,
		"call": d.call, "resume_call": d.resumeCall,
	}
}

func (d *driver) hello(context.Context, *fields) (any, error) {
	return object{"language": "go", "library": perdure.Version, "protocol": 1}, nil
}

func (d *driver) answer(id int64, ok any, err error) {
	if err != nil {
		d.say(object{"id": id, "error": errorOf(err)})
		return
	}
	if ok == nil {
		ok = object{}
	}
	d.say(object{"id": id, "ok": ok})
}

// say writes one line.
func (d *driver) say(line object) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil {
		fmt.Fprintf(os.Stderr, "cannot say %v: %v\n", line, err)
		return
	}
	d.write.Lock()
	defer d.write.Unlock()
	_, _ = d.out.Write(text.Bytes())
	_ = d.out.Flush() // at the end of stdout nobody listens
}

// closeAll stops workers without grace, and closes clients.
func (d *driver) closeAll() {
	d.mutex.Lock()
	workers, clients := d.workers, d.clients
	d.workers, d.clients = nil, nil
	d.mutex.Unlock()
	var all sync.WaitGroup
	for _, one := range workers {
		all.Add(1)
		go func() {
			defer all.Done()
			one.worker.Hurry()
			one.stop()
			<-one.ended
		}()
	}
	over := make(chan struct{})
	go func() {
		all.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(4 * time.Second):
	}
	for _, client := range clients {
		_ = client.Close()
	}
}
