// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package version has the version of Groundskeeper from which a binary was built.
//
// A release sets it with -ldflags "-X groundskeeper.io/groundskeeper/pkg/version.version=v1.2.3
// -X groundskeeper.io/groundskeeper/pkg/version.commit=<sha>". Any other build reports what the Go command
// wrote into the binary. It is kept apart from the version of component-base, which decides about the
// feature gates of Kubernetes.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Set by the linker and never written otherwise.
var (
	version string
	commit  string
)

// unreleased is the version of a build without a version.
const unreleased = "v0.0.0-unreleased"

// Version returns the semantic version with a leading v, for example v1.2.3.
func Version() string {
	v, _ := resolve(version, commit, buildInfo())
	return v
}

// Commit returns the git commit the binary was built from, with the suffix -dirty when the tree had changes.
// It is empty when unknown.
func Commit() string {
	_, c := resolve(version, commit, buildInfo())
	return c
}

// String describes the build in one line, for example "v1.2.3 (commit 0123abc, go1.26.8, linux/amd64)".
func String() string {
	return fmt.Sprintf("%s (commit %s, %s, %s/%s)", Version(), cmp.Or(Commit(), "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// UserAgent is how a binary names itself to an API server, for example
// "groundskeeper-apiserver/v1.2.3 (linux/amd64) 0123abc". The server uses the part before the slash as the
// name of the field manager of writes that give none.
func UserAgent(binary string) string {
	return fmt.Sprintf("%s/%s (%s/%s) %s", binary, Version(), runtime.GOOS, runtime.GOARCH, cmp.Or(Commit(), "unknown"))
}

func buildInfo() *debug.BuildInfo {
	info, _ := debug.ReadBuildInfo()
	return info
}

// resolve prefers what the linker set over what the Go command recorded. info may be nil.
func resolve(version, commit string, info *debug.BuildInfo) (string, string) {
	if info == nil {
		return cmp.Or(version, unreleased), commit
	}
	if version == "" && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	if commit == "" {
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		commit = settings["vcs.revision"]
		if commit != "" && settings["vcs.modified"] == "true" {
			commit += "-dirty"
		}
	}
	return cmp.Or(version, unreleased), commit
}
