// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	utilversion "k8s.io/apimachinery/pkg/util/version"
)

func TestResolve(t *testing.T) {
	vcs := func(version, revision, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{
			Main:     debug.Module{Version: version},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}},
		}
	}
	for name, tc := range map[string]struct {
		version, commit         string
		info                    *debug.BuildInfo
		wantVersion, wantCommit string
	}{
		"linker":                  {"v1.2.3", "abc", vcs("v9.9.9", "def", "true"), "v1.2.3", "abc"},
		"linker without info":     {"v1.2.3", "abc", nil, "v1.2.3", "abc"},
		"nothing":                 {"", "", nil, unreleased, ""},
		"go build without vcs":    {"", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, unreleased, ""},
		"go build, clean tree":    {"", "", vcs("(devel)", "def", "false"), unreleased, "def"},
		"go build, changed tree":  {"", "", vcs("(devel)", "def", "true"), unreleased, "def-dirty"},
		"go install of a version": {"", "", vcs("v0.3.0", "", ""), "v0.3.0", ""},
		"commit by the linker":    {"", "abc", vcs("v0.3.0", "def", "true"), "v0.3.0", "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			gotVersion, gotCommit := resolve(tc.version, tc.commit, tc.info)
			if gotVersion != tc.wantVersion || gotCommit != tc.wantCommit {
				t.Errorf("got %q %q, want %q %q", gotVersion, gotCommit, tc.wantVersion, tc.wantCommit)
			}
		})
	}
}

func TestStrings(t *testing.T) {
	if _, err := utilversion.ParseSemantic(Version()); err != nil {
		t.Errorf("%q is not a semantic version: %v", Version(), err)
	}
	if want := regexp.MustCompile(`^v\S+ \(commit \S+, go\S+, \w+/\w+\)$`); !want.MatchString(String()) {
		t.Errorf("%q does not look like %s", String(), want)
	}
	if !strings.HasPrefix(UserAgent("groundskeeper-x"), "groundskeeper-x/"+Version()+" (") {
		t.Errorf("%q does not begin with the name and the version", UserAgent("groundskeeper-x"))
	}
}
