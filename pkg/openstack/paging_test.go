// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/url"
	"testing"
)

func TestFollowing(t *testing.T) {
	const address = "https://cloud.example:8776/v3/volumes/detail?limit=2"
	for link, want := range map[string]string{
		"https://cloud.example:8776/v3/volumes/detail?limit=2&marker=a": "https://cloud.example:8776/v3/volumes/detail?limit=2&marker=a",
		"http://cloud.example:8776/v3/volumes/detail?marker=a":          "https://cloud.example:8776/v3/volumes/detail?marker=a",
		"http://cloud.example/v3/volumes/detail?marker=a":               "https://cloud.example:8776/v3/volumes/detail?marker=a",
		"https://user:word@cloud.example/v3/volumes/detail?marker=a":    "https://cloud.example:8776/v3/volumes/detail?marker=a",
		"/v3/volumes/detail?marker=a":                                   "https://cloud.example:8776/v3/volumes/detail?marker=a",
		"?marker=a":                                                     "https://cloud.example:8776/v3/volumes/detail?marker=a",
		address:                                                         "",
		"http://cloud.example/v3/volumes/detail?limit=2":                "",
		"https://other.example:8776/v3/volumes/detail?marker=a":         "",
		"https://cloud.example.other.example/v3/volumes/detail?x=1":     "",
		"//other.example/v3/volumes/detail?marker=a":                    "",
		"%": "",
	} {
		if got, err := following(address, link); got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, errPartial) {
			t.Errorf("%s: got %q, %v, want %q", link, got, err, want)
		}
	}
}

// FuzzFollowing checks that no link sends the token to another server.
func FuzzFollowing(f *testing.F) {
	const address = "https://cloud.example:8776/v3/volumes/detail"
	for _, link := range []string{"?marker=a", "//other.example", "https://cloud.example@other.example/", `https:\\other.example`, "mailto:cloud.example", "https:opaque"} {
		f.Add(link)
	}
	f.Fuzz(func(t *testing.T, link string) {
		next, err := following(address, link)
		if err != nil {
			return
		}
		to, err := url.Parse(next)
		if err != nil || to.Scheme != "https" || to.Host != "cloud.example:8776" {
			t.Errorf("%q leads to %q, %v", link, next, err)
		}
	})
}
