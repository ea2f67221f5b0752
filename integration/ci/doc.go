// Package ci holds the tests of .ci/run.
package ci
