// Package asr stands in for somebody else's speech recognition: the first question finds a task unfinished, the next one done.
package asr

import (
	"context"
	"strings"
	"sync/atomic"
)

var asked atomic.Int64

// Submit begins a task, once per dedup key; the callback is called when it is done.
func Submit(_ context.Context, url, dedup, callback string) (task string, err error) {
	return url, nil
}

// Result is the text of a task, once it is done.
func Result(_ context.Context, task string) (text string, done bool, err error) {
	return "text of " + strings.TrimPrefix(task, "s3://"), asked.Add(1) > 1, nil
}
