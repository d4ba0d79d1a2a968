package perdure

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"
)

func TestTheFirstSignalStopsAndTheSecondHurries(t *testing.T) {
	ctx, stop := UntilTerminated(context.Background())
	defer stop()
	arrives := func(what string, done <-chan struct{}) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s does not come", what)
		}
	}
	arrives("the end of the context", ctx.Done())
	select {
	case <-hurryOf(ctx):
		t.Fatal("one signal is no hurry")
	default:
	}
	arrives("the hurry", hurryOf(ctx))
	stop()
	stop() // twice is once
}

func TestAStopWithoutASignalEndsTheContext(t *testing.T) {
	ctx, stop := UntilTerminated(context.Background())
	stop()
	if ctx.Err() == nil {
		t.Error("the context goes on")
	}
}
