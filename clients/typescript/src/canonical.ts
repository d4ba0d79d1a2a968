import { PayloadRejected } from "./errors.js";
import { ErrorReason } from "./reasons.js";

/**
 * The one text that stands for equal JSON values, for keyed digests: members by the code points of their names, no white space,
 * numbers as they were written; in strings only `"`, `\` and what is below U+0020 is escaped. The same in all languages.
 * Throws PayloadRejected for what is no JSON, has duplicate names or half of a surrogate pair.
 * @internal
 */
export function canonical(text: string): string {
  try {
    JSON.parse(text); // the grammar; what follows only rearranges
    return new Rearranger(text).whole();
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) {
      throw new PayloadRejected(`not JSON: ${error.message}`, { reason: ErrorReason.PAYLOAD_INVALID });
    }
    throw error;
  }
}

/** Reads text that is known to be JSON. */
class Rearranger {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): string {
    this.#space();
    return this.#value();
  }

  #value(): string {
    switch (this.#text.charAt(this.#at)) {
      case "{":
        return this.#object();
      case "[":
        return this.#array();
      case '"':
        return this.#string();
      default:
        return this.#matched(/[^\s,\]}]+/y);
    }
  }

  #object(): string {
    const members = new Map<string, string>();
    this.#list("}", () => {
      const name = this.#string();
      if (members.has(name)) throw new SyntaxError("a name stands twice in an object");
      this.#skip();
      members.set(name, this.#value());
    });
    const sorted = [...members].sort(([left], [right]) => byCodePoints(JSON.parse(left) as string, JSON.parse(right) as string));
    return `{${sorted.map(([name, value]) => `${name}:${value}`).join(",")}}`;
  }

  #array(): string {
    const items: string[] = [];
    this.#list("]", () => items.push(this.#value()));
    return `[${items.join(",")}]`;
  }

  #string(): string {
    const value = JSON.parse(this.#matched(/"[^"\\]*(?:\\.[^"\\]*)*"/y)) as string;
    if (/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(value)) throw new SyntaxError("half of a surrogate pair");
    return JSON.stringify(value);
  }

  #list(close: string, item: () => void): void {
    this.#skip();
    while (this.#text.charAt(this.#at) !== close) {
      item();
      this.#space();
      if (this.#text.charAt(this.#at) === ",") this.#skip();
    }
    this.#skip();
  }

  /** Passes one sign and the space behind it, or the space before it, the sign, and the space behind it. */
  #skip(): void {
    this.#space();
    this.#at += 1;
    this.#space();
  }

  #space(): void {
    while (" \t\r\n".includes(this.#text.charAt(this.#at)) && this.#at < this.#text.length) this.#at += 1;
  }

  #matched(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }
}

/** UTF-16 order is not code point order: surrogates stand below U+E000. */
function byCodePoints(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left, "utf8"), Buffer.from(right, "utf8"));
}
