package io.perdure;

/** What a watch tells. */
public final class WatchOptions {
    boolean frames = true;
    boolean follow;
    boolean idle;
    String resumeToken = "";

    /** Changes and frames, until the round ends. */
    public WatchOptions() {
        // nothing is set
    }

    /**
     * No progress frames.
     *
     * @return these options
     */
    public WatchOptions withoutFrames() {
        this.frames = false;
        return this;
    }

    /**
     * Go on into the next rounds instead of ending with this one.
     *
     * @return these options
     */
    public WatchOptions follow() {
        this.follow = true;
        return this;
    }

    /**
     * Also {@link Event.Idle} events, after 15 s without another and whenever a lost connection is tried again: a moment to look
     * whether somebody still reads what you pass on.
     *
     * @return these options
     */
    public WatchOptions idle() {
        this.idle = true;
        return this;
    }

    /**
     * Go on behind an earlier event.
     *
     * @param token its {@link Event#resumeToken()}; empty: from a snapshot
     * @return these options
     */
    public WatchOptions resumeToken(String token) {
        this.resumeToken = token;
        return this;
    }
}
