package io.perdure;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** A TCP proxy before a server: a test may cut its connections, and lose what the server answers. */
final class Proxy implements AutoCloseable {
    private final String host;
    private final int port;
    private final ServerSocket listener;
    private final Set<Link> links = ConcurrentHashMap.newKeySet();
    private final Semaphore refused = new Semaphore(0);
    private volatile boolean isAway;

    Proxy(String address) {
        int colon = address.lastIndexOf(':');
        host = address.substring(0, colon);
        port = Integer.parseInt(address.substring(colon + 1));
        try {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        start(this::accept);
    }

    String address() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    /** Ends the connections that are open; new ones are let through. */
    void cut() {
        links.forEach(Link::close);
    }

    /** From now on nothing that the server says on the connections that are open arrives. */
    void loseAnswers() {
        links.forEach(link -> link.isMute = true);
    }

    /** As if the server were gone: connections are cut, and new ones too, until `comeBack`. */
    void goAway() {
        isAway = true;
        cut();
    }

    void comeBack() {
        isAway = false;
    }

    /** Waits until so many connections were tried while the server was away. */
    boolean awaitRefused(int count, Duration within) throws InterruptedException {
        return refused.tryAcquire(count, within.toMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    public void close() {
        closeQuietly(listener);
        cut();
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket near = listener.accept();
                if (isAway) {
                    closeQuietly(near);
                    refused.release();
                } else {
                    links.add(new Link(near, new Socket(host, port)));
                }
            } catch (IOException closed) {
                return;
            }
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "proxy");
        thread.setDaemon(true);
        thread.start();
    }

    private static void closeQuietly(AutoCloseable what) {
        try {
            what.close();
        } catch (Exception closedAlready) {
            assert closedAlready instanceof IOException;
        }
    }

    private final class Link {
        private final Socket near;
        private final Socket far;
        private volatile boolean isMute;

        Link(Socket near, Socket far) {
            this.near = near;
            this.far = far;
            start(() -> copy(near, far, false));
            start(() -> copy(far, near, true));
        }

        void close() {
            closeQuietly(near);
            closeQuietly(far);
            links.remove(this);
        }

        private void copy(Socket from, Socket to, boolean areAnswers) {
            byte[] bytes = new byte[65_536];
            try {
                for (int count = from.getInputStream().read(bytes); count >= 0; count = from.getInputStream().read(bytes)) {
                    if (!(areAnswers && isMute)) {
                        to.getOutputStream().write(bytes, 0, count);
                    }
                }
            } catch (IOException ended) {
                assert !from.isClosed() || ended.getMessage() != null;
            }
            close();
        }
    }
}
