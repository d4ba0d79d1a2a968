package session

import (
	"context"
	"log/slog"
)

// journal writes lines on a goroutine of its own: a logger that blocks, or that calls the session, must not delay a renewal.
// More lines than fit are dropped.
type journal struct {
	lines chan line
	over  chan struct{}
	stop  chan struct{}
	to    *slog.Logger
}

type line struct {
	level   slog.Level
	message string
	about   []any
}

const journalLines = 1_000

func newJournal(to *slog.Logger) *journal {
	return &journal{make(chan line, journalLines), make(chan struct{}), make(chan struct{}), to}
}

func (j *journal) run() {
	defer close(j.over)
	for {
		select {
		case found := <-j.lines:
			j.to.Log(context.Background(), found.level, found.message, found.about...)
		case <-j.stop:
			for len(j.lines) > 0 {
				found := <-j.lines
				j.to.Log(context.Background(), found.level, found.message, found.about...)
			}
			return
		}
	}
}

// close writes what is left, and waits for it.
func (j *journal) close() {
	close(j.stop)
	<-j.over
}

func (j *journal) put(level slog.Level, message string, about []any) {
	select {
	case j.lines <- line{level, message, about}:
	default:
	}
}

// Info, Warn and Error note a line.
func (j *journal) Info(message string, about ...any)  { j.put(slog.LevelInfo, message, about) }
func (j *journal) Warn(message string, about ...any)  { j.put(slog.LevelWarn, message, about) }
func (j *journal) Error(message string, about ...any) { j.put(slog.LevelError, message, about) }
