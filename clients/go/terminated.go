package perdure

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

type hurryKey struct{}

// UntilTerminated is a context that ends with SIGTERM or SIGINT: a worker that runs in it then finishes what it can within its
// grace, and gives the rest back with its checkpoints. A second signal ends the grace. Call stop when it is not needed any more.
func UntilTerminated(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	hurry := make(chan struct{})
	ctx, cancel := context.WithCancel(context.WithValue(parent, hurryKey{}, (<-chan struct{})(hurry)))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	over := make(chan struct{})
	go func() {
		for count := 0; ; count++ {
			select {
			case <-signals:
			case <-over:
				return
			}
			if count == 0 {
				cancel()
				continue
			}
			close(hurry)
			signal.Stop(signals) // a third one ends the program, as it would without this
			return
		}
	}()
	var once sync.Once
	return ctx, func() {
		cancel()
		once.Do(func() {
			signal.Stop(signals)
			close(over)
		})
	}
}

// hurryOf is closed when the grace should end; nil: never.
func hurryOf(ctx context.Context) <-chan struct{} {
	hurry, _ := ctx.Value(hurryKey{}).(<-chan struct{})
	return hurry
}
