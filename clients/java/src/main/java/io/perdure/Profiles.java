package io.perdure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.toml.TomlMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Profiles: settings under a name in a TOML file, for people who talk to several servers. Variables win over them. */
final class Profiles {
    private static final Set<String> KEYS = new TreeSet<>(Set.of(
            "address", "namespace", "token", "token_file", "codec_keys",
            "tls", "tls_ca_file", "tls_cert_file", "tls_key_file", "tls_server_name"));

    private Profiles() {}

    /** The variables, and what the profile (else PERDURE_PROFILE; empty: none) says where they are not set. */
    static Map<String, String> with(Map<String, String> known, String name) {
        String wanted = name.isEmpty() ? known.getOrDefault("PERDURE_PROFILE", "") : name;
        if (wanted.isEmpty()) {
            return known;
        }
        Path path = path(known);
        JsonNode profiles;
        try {
            profiles = new TomlMapper().readTree(Files.readString(path));
        } catch (IOException error) {
            throw invalid("the profile " + wanted + " cannot be read from " + path + ": " + error.getMessage());
        }
        JsonNode found = profiles.path(wanted);
        if (!found.isObject()) {
            Set<String> names = new TreeSet<>();
            profiles.fieldNames().forEachRemaining(names::add);
            throw invalid(path + " has no profile " + wanted + "; it has " + (names.isEmpty() ? "none" : String.join(", ", names)));
        }
        Map<String, String> settings = new HashMap<>();
        for (Map.Entry<String, JsonNode> setting : found.properties()) {
            if (!KEYS.contains(setting.getKey())) {
                throw invalid(path + ": profile " + wanted + ": " + setting.getKey() + ": no such setting; there are "
                        + String.join(", ", KEYS));
            }
            settings.put("PERDURE_" + setting.getKey().toUpperCase(Locale.ROOT), setting.getValue().asText());
        }
        known.forEach((variable, value) -> {
            if (!value.isEmpty()) {
                settings.put(variable, value);
            }
        });
        return settings;
    }

    private static Path path(Map<String, String> known) {
        String given = known.getOrDefault("PERDURE_PROFILES", "");
        if (!given.isEmpty()) {
            return Path.of(given);
        }
        String base = known.getOrDefault("XDG_CONFIG_HOME", "");
        Path folder = base.isEmpty() ? Path.of(System.getProperty("user.home"), ".config") : Path.of(base);
        return folder.resolve("perdure").resolve("profiles.toml");
    }

    private static InvalidRequestException invalid(String text) {
        return new InvalidRequestException(ErrorFacts.of(text, ""));
    }
}
