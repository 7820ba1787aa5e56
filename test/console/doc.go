// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package console tests the page of "kubectl groundskeeper console" in a browser, on a plane whose objects change meanwhile. The steps
// of the browser are in browser/steps.mjs; the test starts the processes, and stops and starts the API server for them.
//
// "make test-console" installs what drives the browser, and runs the test. With SCREENSHOTS=DIRECTORY it also writes the screenshots of
// the documentation.
package console
