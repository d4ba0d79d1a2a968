package main

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// working is one worker that runs.
type working struct {
	driver    *driver
	name      string
	worker    *perdure.Worker
	stop      context.CancelFunc
	ended     chan struct{}
	err       error
	behaviour []script

	mutex sync.Mutex
	// holding are activities that hold, oldest first; passes are those that may go on at once.
	holding []*holding
	passes  []pass
}

type pass struct{ step, key string }

type holding struct {
	pass
	goOn chan struct{}
}

func (d *driver) work(ctx context.Context, told *fields) (any, error) {
	client, err := d.client(told)
	if err != nil {
		return nil, err
	}
	made := &working{driver: d, name: told.text("worker"), ended: make(chan struct{})}
	if err := told.read("behaviour", &made.behaviour); err != nil {
		return nil, err
	}
	options, err := made.options(told)
	if err != nil {
		return nil, err
	}
	d.mutex.Lock()
	d.pools[client].worker.Store(&made.name)
	d.mutex.Unlock()
	made.worker = client.Worker(options...)
	ctx, made.stop = context.WithCancel(ctx)
	go func() {
		defer close(made.ended)
		made.err = made.worker.Run(ctx)
	}()
	select {
	case <-made.worker.Ready():
	case <-made.ended:
		return nil, made.err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.workers[made.name] = made
	return nil, nil
}

func (w *working) options(told *fields) ([]perdure.WorkerOption, error) {
	var texts, only []string
	var perStep map[string]int
	count := 0
	if err := told.read("definitions", &texts); err != nil {
		return nil, err
	}
	if err := told.read("steps", &only); err != nil {
		return nil, err
	}
	if told.read("slots", &count) != nil {
		if err := told.read("slots", &perStep); err != nil {
			return nil, err
		}
	}
	var made []perdure.WorkerOption
	for _, text := range texts {
		definition, err := definitionOf(text)
		if err != nil {
			return nil, err
		}
		if told.has("register") && !told.flag("register") {
			made = append(made, perdure.Offer(definition))
		} else {
			made = append(made, perdure.Register(definition))
		}
		made = append(made, w.serve(definition, only, perStep)...)
	}
	if count > 0 {
		made = append(made, perdure.Slots(count))
	}
	if told.has("worker_id") {
		made = append(made, perdure.WorkerID(told.text("worker_id")))
	}
	if told.has("lease_ms") {
		made = append(made, perdure.Lease(told.milliseconds("lease_ms")))
	}
	if told.has("grace_ms") {
		made = append(made, perdure.Grace(told.milliseconds("grace_ms")))
	}
	return made, nil
}

// serve is every step of a definition that workers run.
func (w *working) serve(definition *perdurev1.Definition, only []string, slots map[string]int) []perdure.WorkerOption {
	var made []perdure.WorkerOption
	for _, step := range definition.GetSteps() {
		isServed := step.GetActivity() != nil || step.GetMap().GetPaged() != nil || step.GetKind() == nil
		if !isServed || (only != nil && !slices.Contains(only, step.GetName())) {
			continue
		}
		var options []perdure.ServeOption
		if count := slots[step.GetName()]; count > 0 {
			options = append(options, perdure.Slots(count))
		}
		if queue := step.GetPolicy().GetQueue(); queue != "" {
			options = append(options, perdure.Queue(queue))
		}
		made = append(made, perdure.Serve(definition.GetWorkflowType(), step.GetName(), w.play, options...))
	}
	return made
}

func (d *driver) worker(told *fields) (*working, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found := d.workers[told.text("worker")]
	if found == nil {
		return nil, usage("no worker is called %q", told.text("worker"))
	}
	return found, nil
}

func (d *driver) drain(_ context.Context, told *fields) (any, error) {
	found, err := d.worker(told)
	if err == nil {
		found.stop()
	}
	return nil, err
}

func (d *driver) stop(_ context.Context, told *fields) (any, error) {
	found, err := d.worker(told)
	if err != nil {
		return nil, err
	}
	if told.flag("hurry") {
		found.worker.Hurry()
	}
	found.stop()
	<-found.ended
	d.mutex.Lock()
	delete(d.workers, found.name)
	d.mutex.Unlock()
	return nil, found.err
}

func (d *driver) goOn(_ context.Context, told *fields) (any, error) {
	found, err := d.worker(told)
	if err != nil {
		return nil, err
	}
	found.mutex.Lock()
	defer found.mutex.Unlock()
	wanted := pass{told.text("step"), told.text("key")}
	for index, one := range found.holding {
		if wanted.fits(one.pass) {
			found.holding = slices.Delete(found.holding, index, index+1)
			close(one.goOn)
			return nil, nil
		}
	}
	found.passes = append(found.passes, wanted)
	return nil, nil
}

// fits: a go_on without a key is for any.
func (p pass) fits(held pass) bool { return p.step == held.step && (p.key == "" || p.key == held.key) }

// hold is closed when an activity may go on.
func (w *working) hold(at pass) *holding {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	made := &holding{at, make(chan struct{})}
	for index, one := range w.passes {
		if one.fits(at) {
			w.passes = slices.Delete(w.passes, index, index+1)
			close(made.goOn)
			return made
		}
	}
	w.holding = append(w.holding, made)
	return made
}

func (w *working) letGo(held *holding) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.holding = slices.DeleteFunc(w.holding, func(one *holding) bool { return one == held })
}

// poolLog hears from the library's log which pools are not served, and passes the rest on to stderr.
type poolLog struct {
	driver *driver
	worker atomic.Pointer[string]
}

func (p *poolLog) Enabled(context.Context, slog.Level) bool { return true }

func (p *poolLog) Handle(ctx context.Context, record slog.Record) error {
	if record.Message == "a pool is not served for now" || record.Message == "a step is not served for now" {
		line := object{"event": "pool", "worker": *p.worker.Load(), "reason": "", "text": ""}
		record.Attrs(func(attribute slog.Attr) bool {
			switch attribute.Key {
			case "reason":
				line["reason"] = attribute.Value.String()
			case "error":
				line["text"] = attribute.Value.String()
			}
			return true
		})
		p.driver.say(line)
	}
	return slog.NewTextHandler(os.Stderr, nil).Handle(ctx, record)
}

func (p *poolLog) WithAttrs([]slog.Attr) slog.Handler { return p }
func (p *poolLog) WithGroup(string) slog.Handler      { return p }
