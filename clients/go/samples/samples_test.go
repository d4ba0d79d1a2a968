package samples

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/clients/go"
	"github.com/perdure/perdure/clients/go/perduretest"
)

const patience = time.Minute

// TestSamples builds all programs and runs them as they are, against one server.
func TestSamples(t *testing.T) {
	process := perduretest.Launch(t, "--no-redis")
	directory := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", directory, "./...").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program := func(t *testing.T, name string) *exec.Cmd {
		ctx, stop := context.WithTimeout(context.Background(), patience)
		t.Cleanup(stop)
		made := exec.CommandContext(ctx, filepath.Join(directory, name))
		made.Env = append(os.Environ(), "PERDURE_ADDRESS="+process.Address)
		return made
	}
	for name, want := range map[string][]string{
		"quickstart": {"Hello, Ann!\n"},
		"wait":       {"print WAITING for printed", "COMPLETED\n"},
		"watch":      {"once upon a time\n"},
		"saga":       {"failed in ship: order.no_address\nreserve\ncharge\nrefund (undoes charge)\nrelease (undoes reserve)\n"},
		"fence":      {"the fence rises: true; the late write is taken: false; the page: second\n"},
		"admin":      {"10 nights to come\n0 to pause\ntrue\n"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := program(t, name).CombinedOutput()
			for _, text := range want {
				if err != nil || !strings.Contains(string(out), text) {
					t.Errorf("%v; it prints not %q but: %s", err, text, out)
				}
			}
		})
	}
	t.Run("dream", func(t *testing.T) { dream(t, process, program(t, "dream")) })
}

const note = `
workflow_type: note
version: "1"
output: publish
steps:
  transcribe: {needs: [input], attempt_timeout: 2m}
  compose: {needs: [transcribe], silence_timeout: 60s}
  choice: {after: [compose], wait: {any_of: [{signal: choose}, {after: 3d}]}}
  publish: {needs: [compose, choice]}
`

// dream is the program of the design's sketch; the test plays the other teams' workers, and the world outside.
func dream(t *testing.T, process *perduretest.Process, program *exec.Cmd) {
	client, err := perdure.Dial(perdure.WithAddress(process.Address))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	definition, err := perdure.ParseDefinition([]byte(note))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Definitions().Apply(ctx, definition); err != nil {
		t.Fatal(err)
	}
	others := client.Worker(
		perdure.Serve("note", "compose", func(ctx perdure.Context, in struct{ Transcribe string }) (string, error) {
			ctx.Frame("note: ")
			return "note: " + in.Transcribe, nil
		}),
		perdure.Serve("note", "publish", func(_ perdure.Context, in struct {
			Compose string
			Choice  perdure.Woken[int]
		}) (string, error) {
			return in.Compose, nil
		}),
	)
	ended := make(chan error, 1)
	working, rest := context.WithCancel(ctx)
	go func() { ended <- others.Run(working) }()
	defer func() {
		rest()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	var out strings.Builder
	program.Stdout, program.Stderr = &out, &out
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	run := client.Run("note", "note-42")
	for _, err := run.Get(ctx); err != nil; _, err = run.Get(ctx) { // the program starts it
		if perdure.ReasonOf(err) != perdure.ReasonWorkflowNotFound {
			t.Fatalf("%v\n%s", err, &out)
		}
	}
	for event, err := range run.Watch(ctx) {
		if err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		for _, signal := range []string{"asr.done", "choose"} {
			if event.WaitsFor(signal) {
				if _, err := run.Signal(ctx, signal, 1, perdure.SignalID("click-"+signal)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := program.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{"transcribe WAITING for asr.done", "compose [1.1] note: ", "COMPLETED <nil>", "note: text of a.mp3 \n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not print %q but:\n%s", want, &out)
		}
	}
}
