package io.perdure;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.regex.Pattern;

/** A bearer token in a file, read again when the file changes, so that short-lived tokens can be replaced under a running worker. */
final class TokenFile {
    private static final Pattern TOKEN = Pattern.compile("[\\x20-\\x7e]+");

    private final Path path;
    private String stamp;
    private String token;

    TokenFile(String path) {
        this.path = Path.of(path);
        this.stamp = stamp(this.path);
        this.token = read();
    }

    /** The token; while the file cannot be read, the last one. */
    synchronized String current() {
        String now = stamp(path);
        if (!now.isEmpty() && !now.equals(stamp)) {
            try {
                token = read();
                stamp = now;
            } catch (InvalidRequestException error) {
                return token; // in the middle of being written: the next call looks again
            }
        }
        return token;
    }

    static boolean isToken(String text) {
        return TOKEN.matcher(text).matches();
    }

    /** Changes with the file; empty: it is not there. */
    static String stamp(Path path) {
        try {
            BasicFileAttributes found = Files.readAttributes(path, BasicFileAttributes.class);
            return found.lastModifiedTime().toMillis() + "/" + found.size() + "/" + found.fileKey();
        } catch (IOException error) {
            return "";
        }
    }

    private String read() {
        String found = new String(Tls.read(path.toString()), StandardCharsets.UTF_8).strip();
        if (!isToken(found)) {
            throw new InvalidRequestException(
                    ErrorFacts.of("the token file " + path + " holds no token: one line of printable ASCII", ""));
        }
        return found;
    }
}
