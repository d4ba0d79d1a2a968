package io.perdure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The README's programs are cut from the samples; `mvn test -Dtest=ReadmeTest -Dreadme.write=true` cuts them anew. */
class ReadmeTest {
    private static final Path README = Path.of("README.md");
    private static final Pattern CUT = Pattern.compile("<!-- begin (\\S+) -->\n.*?<!-- end \\1 -->", Pattern.DOTALL);

    @Test
    void theProgramsAreThoseThatTheTestsRun() throws IOException {
        String text = Files.readString(README);
        String made = CUT.matcher(text).replaceAll(found -> Matcher.quoteReplacement(program(found.group(1))));
        if (Boolean.getBoolean("readme.write")) {
            Files.writeString(README, made);
            return;
        }
        assertEquals(made, text, "stale: mvn test -Dtest=ReadmeTest -Dreadme.write=true");
        assertTrue(CUT.matcher(text).results().count() >= 6);
    }

    @Test
    void theVersionIsThatOfTheServer() throws IOException {
        Matcher server = Pattern.compile("(?m)^version = \"(.*)\"$").matcher(Files.readString(Path.of("../../pyproject.toml")));
        assertTrue(server.find());
        assertEquals(server.group(1), Client.VERSION);
        assertTrue(Files.readString(Path.of("pom.xml")).contains("<version>" + Client.VERSION + "</version>"));
        assertTrue(Files.readString(README).contains("<version>" + Client.VERSION + "</version>"));
    }

    /** Without package and imports, which an editor adds. */
    private static String program(String path) {
        try {
            String source = Files.readString(Path.of(path));
            return "<!-- begin " + path + " -->\n```java\n" + source.substring(source.indexOf("/**")).strip() + "\n```\n<!-- end " + path + " -->";
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
