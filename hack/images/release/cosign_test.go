// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newKeys makes a pair of keys with openssl, and returns their files.
func newKeys(t *testing.T, algorithm ...string) (private, public string) {
	t.Helper()
	dir := t.TempDir()
	private, public = filepath.Join(dir, "key.pem"), filepath.Join(dir, "key.pub")
	command(t, "openssl", append([]string{"genpkey", "-out", private, "-algorithm"}, algorithm...)...)
	command(t, "openssl", "pkey", "-in", private, "-pubout", "-out", public)
	return private, public
}

// imageRelease makes a directory with an archive of an image.
func imageRelease(t *testing.T) release {
	t.Helper()
	r := newRelease(t.TempDir())
	layout{t, map[string][]byte{}}.write(r.directory, newPart("amd64", []byte("one")), newPart("arm64", []byte("two")))
	return r
}

func onlyImage(t *testing.T, r release) string {
	t.Helper()
	images, err := r.images()
	if err != nil || len(images) != 1 {
		t.Fatalf("images = %v, error %v, want one", images, err)
	}
	return images[0]
}

// TestImageSignature checks that the signature of an image is deterministic, and that the script that users run accepts it with
// either kind of key, and nothing else.
func TestImageSignature(t *testing.T) {
	for name, algorithm := range map[string][]string{
		"Ed25519": {"ed25519"}, "ECDSA": {"EC", "-pkeyopt", "ec_paramgen_curve:P-256"},
	} {
		private, public := newKeys(t, algorithm...)
		k, err := readKey(private)
		if err != nil {
			t.Fatal(err)
		}
		_, otherPublic := newKeys(t, algorithm...)
		for about, c := range map[string]struct {
			tamper func(t *testing.T, r release)
			public string
			want   string
		}{
			"unchanged":     {func(*testing.T, release) {}, public, ""},
			"another key":   {func(*testing.T, release) {}, otherPublic, "not one of"},
			"not signed":    {func(t *testing.T, r release) { _ = os.Remove(signatureOf(t, r)) }, public, "not signed"},
			"another image": {func(t *testing.T, r release) { moveSignature(t, r, k) }, public, "another image"},
			"another signature": {func(t *testing.T, r release) {
				forged, err := signatureArchive("sha256:0", []byte("{}"), base64.StdEncoding.EncodeToString([]byte("no")), r.time)
				if err != nil {
					t.Fatal(err)
				}
				write(t, signatureOf(t, r), forged)
			}, public, "not one of"},
		} {
			t.Run(name+", "+about, func(t *testing.T) {
				r := imageRelease(t)
				if err := r.signImages(k); err != nil {
					t.Fatal(err)
				}
				if err := r.checkSignatures(k); err != nil {
					t.Errorf("the signature is not the same each time: %v", err)
				}
				c.tamper(t, r)
				out, err := exec.CommandContext(t.Context(), "../verify-image.sh", onlyImage(t, r), c.public).CombinedOutput()
				if (err == nil) != (c.want == "") || !strings.Contains(string(out), c.want) {
					t.Errorf("error = %v, output = %q, want %q", err, out, c.want)
				}
				if c.public == public && (r.checkSignatures(k) == nil) != (c.want == "") {
					t.Errorf("the check of the release: %v, want an error: %t", r.checkSignatures(k), c.want != "")
				}
			})
		}
	}
}

func signatureOf(t *testing.T, r release) string {
	t.Helper()
	return strings.TrimSuffix(onlyImage(t, r), ".tar") + signatureSuffix
}

// moveSignature puts a valid signature of something else in the place of the image's.
func moveSignature(t *testing.T, r release, k key) {
	t.Helper()
	content, err := k.signature("localhost/demo:v1", "sha256:"+sum([]byte("other")), r.time)
	if err != nil {
		t.Fatal(err)
	}
	write(t, signatureOf(t, r), content)
}

// The signature is an image of a registry, under the tag and with the layer that cosign reads.
func TestSignatureIsAnImage(t *testing.T) {
	private, _ := newKeys(t, "ed25519")
	k, err := readKey(private)
	if err != nil {
		t.Fatal(err)
	}
	r := imageRelease(t)
	if err := r.signImages(k); err != nil {
		t.Fatal(err)
	}
	name, digest, err := imageDigest(onlyImage(t, r))
	if err != nil {
		t.Fatal(err)
	}
	tag, _, err := imageDigest(signatureOf(t, r))
	if want := strings.ReplaceAll(digest, ":", "-") + ".sig"; err != nil || tag != want {
		t.Errorf("tag = %q, error %v, want %q", tag, err, want)
	}
	a := archive{blobs: map[string][]byte{}, seen: map[string]bool{}}
	var index, manifest struct {
		Manifests []descriptor `json:"manifests"`
		Config    descriptor   `json:"config"`
		Layers    []descriptor `json:"layers"`
	}
	opened, err := os.Open(signatureOf(t, r))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	if err := eachFile(opened, func(f file) error {
		if digest, ok := strings.CutPrefix(f.header.Name, "blobs/sha256/"); ok {
			a.blobs["sha256:"+digest] = f.content
		}
		if f.header.Name == "index.json" {
			return json.Unmarshal(f.content, &index)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := a.decode(index.Manifests[0], &manifest); err != nil {
		t.Fatal(err)
	}
	var signed payload
	if err := a.decode(manifest.Layers[0], &signed); err != nil {
		t.Fatal(err)
	}
	if manifest.Layers[0].MediaType != mediaTypePayload || signed.Critical.Image.Digest != digest || signed.Critical.Identity.Reference != name || signed.Critical.Type != payloadType {
		t.Errorf("layer %+v has the payload %+v, want the digest %s of %s", manifest.Layers[0], signed, digest, name)
	}
}

func TestKeysOfOtherKindsAreRejected(t *testing.T) {
	rsa, public := newKeys(t, "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
	for name, want := range map[string]string{rsa: "Ed25519 or ECDSA", public: "no private key", filepath.Join(t.TempDir(), "none"): "no such file"} {
		if _, err := readKey(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %q", name, err, want)
		}
	}
}
