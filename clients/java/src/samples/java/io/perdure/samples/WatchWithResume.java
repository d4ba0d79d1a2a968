package io.perdure.samples;

import io.perdure.Client;
import io.perdure.Context;
import io.perdure.Definition;
import io.perdure.Event;
import io.perdure.Run;
import io.perdure.Watch;
import io.perdure.WatchOptions;
import io.perdure.Worker;
import java.util.Optional;

/** Text that is generated, shown piece by piece; the reader goes away in the middle and comes back, in another process perhaps. */
public final class WatchWithResume {
    record Needs(String input) {}

    static Definition definition() {
        Definition story = Definition.of("story").version("1");
        story.step("write", Needs.class, WatchWithResume::write);
        return story;
    }

    static String write(Context ctx, Needs in) {
        StringBuilder text = new StringBuilder();
        for (String word : in.input().split("(?<= )")) {
            text.append(ctx.frame(word)); // sent to whoever watches, kept for a while for those who come later
        }
        return text.toString();
    }

    /** What a reader has seen, and where to go on. */
    static final class Reader {
        final StringBuilder shown = new StringBuilder();
        String resumeToken = "";

        /** Reads so many frames, or to the end; true at the end. */
        boolean read(Run run, int frames) {
            int left = frames;
            try (Watch watch = run.watch(new WatchOptions().resumeToken(resumeToken))) {
                for (Event event : watch) { // a cut of the network is not seen here: it opens itself again
                    resumeToken = event.resumeToken();
                    if (event instanceof Event.Frame frame) {
                        shown.append(frame.text());
                        if (--left == 0) {
                            return false;
                        }
                    } else if (event instanceof Event.FramesReset) {
                        shown.setLength(0); // the attempt is lost, and with it what it showed
                    } else if (event instanceof Event.Gap gap) {
                        System.out.println(gap); // too long away: what is missing is in the result
                    }
                }
            }
            return true;
        }
    }

    public static void main(String[] args) {
        Definition story = definition();
        try (Client client = new Client(); Worker worker = client.worker(story).start()) {
            System.out.println(worker.workerId() + " works");
            Run run = client.start(story, "story-1", "once upon a time there was a server");
            Reader reader = new Reader();
            reader.read(run, 3);
            System.out.println("read: " + reader.shown);
            reader.read(client.run("story", "story-1"), Integer.MAX_VALUE); // the token is all that it takes
            System.out.println("read: " + reader.shown);
            Optional<String> whole = run.get().output(String.class);
            System.out.println(whole.filter(reader.shown.toString()::contentEquals).isPresent() ? "nothing lost, nothing twice" : "differs");
        }
    }

    private WatchWithResume() {}
}
