package io.perdure;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The files of tests/conformance/definition_files.yaml, which the parsers of all languages take or refuse alike. */
class DefinitionFilesTest {
    @Test
    void goodFilesAreTakenAndBadOnesRefused() throws IOException {
        JsonNode files = new YAMLMapper().readTree(Path.of("../../tests/conformance/definition_files.yaml").toFile());
        assertFalse(files.path("good").isEmpty() || files.path("bad").isEmpty());
        for (Map.Entry<String, JsonNode> file : files.get("good").properties()) {
            assertDoesNotThrow(() -> Definition.parse(file.getValue().asText()), file.getKey());
        }
        for (Map.Entry<String, JsonNode> file : files.get("bad").properties()) {
            assertThrows(PerdureException.class, () -> Definition.parse(file.getValue().asText()), file.getKey());
        }
    }
}
