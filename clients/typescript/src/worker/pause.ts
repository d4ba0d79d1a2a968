/**
 * Resolves after so many milliseconds, or as soon as one of the signals is aborted. Leaves no timer and no listener behind.
 */
export function pauseUntil(ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = Number.isFinite(ms) ? setTimeout(done, ms) : undefined;
    for (const signal of signals) signal.addEventListener("abort", done);
    if (signals.some((signal) => signal.aborted)) done();
  });
}
