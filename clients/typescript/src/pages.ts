import { create, type DescMessage, type DescMethodUnary, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";

import type { Calls } from "./calls.js";

/**
 * Every item of a list that comes in pages, each page fetched when the one before has been used up. Throws PerdureError.
 * @internal
 */
export async function* listed<I extends DescMessage, O extends DescMessage, T>(
  calls: Calls,
  method: DescMethodUnary<I, O>,
  init: MessageInitShape<I>,
  itemsOf: (answer: MessageShape<O>) => readonly T[],
): AsyncGenerator<T, void, undefined> {
  const request = create(method.input, init) as MessageShape<I> & { pageToken: string };
  for (;;) {
    const answer = (await calls.unary(method, request)) as MessageShape<O> & { nextPageToken: string };
    yield* itemsOf(answer);
    if (answer.nextPageToken === "") return;
    request.pageToken = answer.nextPageToken;
  }
}
