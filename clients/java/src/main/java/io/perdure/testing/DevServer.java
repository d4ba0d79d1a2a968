package io.perdure.testing;

import io.perdure.Client;
import io.perdure.ClientOptions;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * A {@code perdure dev} of one's own: a whole server as a child process, on a free port. It needs the command {@code perdure}
 * ({@code pip install 'perdure[server]'}), or its path in PERDURE_TEST_SERVER.
 */
public final class DevServer implements AutoCloseable {
    private static final String GREETING = "Perdure serves on ";
    private static final long START_SECONDS = 60;
    private static final long STOP_SECONDS = 20;

    private final Process process;
    private final String address;
    private final List<String> told;

    private DevServer(Process process, String address, List<String> told) {
        this.process = process;
        this.address = address;
        this.told = told;
    }

    /**
     * Starts a server.
     *
     * @param options as {@code perdure dev --help} lists them, such as {@code --test}, {@code --lease 3} or {@code --data-dir}
     * @return the server, once it serves
     * @throws IllegalStateException it does not start
     */
    public static DevServer start(String... options) {
        String given = System.getenv("PERDURE_TEST_SERVER");
        List<String> command = new ArrayList<>(List.of(given == null || given.isEmpty() ? "perdure" : given, "dev", "--port", "0"));
        command.addAll(List.of(options));
        List<String> told = new ArrayList<>();
        CompletableFuture<String> address = new CompletableFuture<>();
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException error) {
            throw new IllegalStateException(command.get(0) + " cannot be started: pip install 'perdure[server]', or name it by"
                    + " PERDURE_TEST_SERVER", error);
        }
        Thread reader = new Thread(() -> read(process, line -> hear(line, told, address)), "perdure-dev-output");
        reader.setDaemon(true);
        reader.start();
        process.onExit().thenRun(() -> address.completeExceptionally(new IllegalStateException("perdure dev has ended")));
        try {
            return new DevServer(process, address.get(START_SECONDS, TimeUnit.SECONDS), told);
        } catch (ExecutionException | TimeoutException error) {
            process.destroy();
            synchronized (told) {
                throw new IllegalStateException("perdure dev does not serve: " + String.join("\n", told), error);
            }
        } catch (InterruptedException interrupted) {
            process.destroy();
            Thread.currentThread().interrupt();
            throw new IllegalStateException("the start of perdure dev was interrupted", interrupted);
        }
    }

    /** {@return host:port of the service} */
    public String address() {
        return address;
    }

    /** {@return the process id} */
    public long pid() {
        return process.pid();
    }

    /** {@return a client of this server, whatever the environment says} */
    public Client client() {
        return new Client(options());
    }

    /** {@return options of a client of this server, to be added to} */
    public ClientOptions options() {
        return new ClientOptions().withoutEnvironment().address(address);
    }

    /**
     * Value of a line that the server greeted with, such as {@code export PERDURE_TLS_CA_FILE=} of {@code --tls}.
     *
     * @param sign what stands before the value
     * @return the rest of that line
     * @throws IllegalStateException no line has it
     */
    public Path path(String sign) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(2);
        synchronized (told) {
            while (true) {
                for (String line : told) {
                    int at = line.indexOf(sign);
                    if (at >= 0) {
                        return Path.of(line.substring(at + sign.length()).strip());
                    }
                }
                long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
                if (left <= 0) {
                    throw new IllegalStateException("perdure dev has not said " + sign + ":\n" + String.join("\n", told));
                }
                try {
                    told.wait(left); // the greeting is still being read
                } catch (InterruptedException interrupted) {
                    Thread.currentThread().interrupt();
                    throw new IllegalStateException(interrupted);
                }
            }
        }
    }

    /** Stops the server. */
    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException interrupted) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    private static void hear(String line, List<String> told, CompletableFuture<String> address) {
        synchronized (told) {
            told.add(line);
            told.notifyAll();
        }
        if (line.startsWith(GREETING)) {
            address.complete(line.substring(GREETING.length()).strip());
        }
    }

    private static void read(Process process, Consumer<String> hear) {
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                hear.accept(line);
            }
        } catch (IOException ended) {
            hear.accept("(its output has ended: " + ended + ")");
        }
    }
}
