package io.perdure;

import io.perdure.testing.DevServer;
import java.util.concurrent.atomic.AtomicInteger;

/** One `perdure dev` for all tests of this JVM, with a namespace of its own for each test that asks. */
public final class Servers {
    private static final AtomicInteger COUNT = new AtomicInteger();
    private static DevServer shared;

    private Servers() {}

    /** The server; a worker that is silent for 3 s is missed. */
    public static synchronized DevServer shared() {
        if (shared == null) {
            DevServer server = DevServer.start("--test", "--lease", "3");
            Runtime.getRuntime().addShutdownHook(new Thread(server::close));
            shared = server;
        }
        return shared;
    }

    /** A client of a new namespace. */
    public static Client client() {
        return new Client(options());
    }

    public static ClientOptions options() {
        return shared().options().namespace("java-" + COUNT.incrementAndGet());
    }
}
