/**
 * Tests without sleeping: a server whose clock the test moves, scripts that play the worker, and a context to run one activity by
 * itself.
 */
package io.perdure.testing;
