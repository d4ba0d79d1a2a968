// Package samples holds programs to copy from, each built and run by a test against a real `perdure dev`.
package samples
