import { ErrorReason as Numbers } from "./gen/perdure/v1/errors_pb.js";

/**
 * Why a call failed, as a stable name: the proto's ErrorReason without its prefix, the same in all languages.
 * Branch on these, never on text. What each means is in docs/reference/errors.md of the repository.
 */
export type ErrorReason = Exclude<keyof typeof Numbers, "UNSPECIFIED">;

/** The reasons as constants: `ErrorReason.CLAIM_LOST === "CLAIM_LOST"`. */
export const ErrorReason = Object.freeze(
  Object.fromEntries(
    Object.values(Numbers)
      .filter((name): name is ErrorReason => typeof name === "string" && name !== "UNSPECIFIED")
      .map((name) => [name, name]),
  ),
) as { readonly [Name in ErrorReason]: Name };
