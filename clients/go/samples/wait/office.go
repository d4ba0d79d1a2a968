package main

import (
	"context"
	"sync"
)

// office is a printer that is done when somebody says so.
type office struct {
	mutex    sync.Mutex
	callback string
	printed  bool
}

func (o *office) Submit(_ context.Context, _, _, callback string) (string, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.callback = callback
	return "job-1", nil
}

func (o *office) IsPrinted(context.Context, string) (bool, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.printed, nil
}

func (o *office) finish() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.printed = true
	return o.callback
}
