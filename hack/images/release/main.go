// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Release writes the bills of materials of a release, its VEX document, the signatures of its images and its provenance, and checks what
// is in it: all of these, the images, their programs and the sums. hack/images/release.sh runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// release is a directory, and what it has to be built from.
type release struct {
	directory, clone string
	version, commit  string
	// platforms are those of the images, programs those of what comes without one.
	platforms, programPlatforms []string
	time                        time.Time
	roots                       module
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	clone := flags.String("clone", ".", "directory of the clone that the release was built from")
	version := flags.String("version", "", "version of the release")
	commit := flags.String("commit", "", "commit that it was built from")
	epoch := flags.Int64("epoch", 0, "time of the release, in seconds since 1970")
	platforms := flags.String("platforms", "", "platforms of its images, with a space between two")
	keyFile := flags.String("key", "", "private key, PKCS #8 in PEM, that signs the images and the provenance (default: they are not signed)")
	programs := flags.String("programs", "", "platforms of its programs without an image (default: those of the images)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 || *version == "" || *commit == "" || *epoch == 0 || *platforms == "" {
		return errors.New("usage: release --version V --commit C --epoch SECONDS --platforms P sbom|vex|sign|provenance|check DIRECTORY")
	}
	r := release{
		directory: flags.Arg(1), clone: *clone, version: *version, commit: *commit,
		time: time.Unix(*epoch, 0), platforms: strings.Fields(*platforms), programPlatforms: strings.Fields(*programs),
	}
	roots, err := output(exec.CommandContext(ctx, "go", "-C", filepath.Join(r.clone, "hack/images/roots"), "list", "-m",
		"-f", "{{.Path}} {{.Version}}", "golang.org/x/crypto/x509roots/fallback"))
	if err != nil {
		return err
	}
	r.roots.path, r.roots.version, _ = strings.Cut(roots, " ")
	products, err := r.products()
	if err != nil {
		return err
	}
	var k *key
	if *keyFile != "" {
		read, err := readKey(*keyFile)
		if err != nil {
			return err
		}
		k = &read
	}
	switch flags.Arg(0) {
	case "sbom":
		return r.writeBills(products)
	case "vex":
		return r.writeVEX(products)
	case "sign":
		if k == nil {
			return errors.New("sign requires --key")
		}
		return r.signImages(*k)
	case "provenance":
		return r.writeProvenance(k)
	case "check":
		if k != nil {
			err = r.checkSignatures(*k)
		}
		return errors.Join(err, r.checkBills(ctx, products), r.checkVEX(products), r.checkProvenance(k), r.checkSums())
	default:
		return fmt.Errorf("unknown command %q", flags.Arg(0))
	}
}

func (r release) writeBills(products []product) error {
	for _, p := range products {
		bill, err := p.bom()
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.bill(p), bill, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (r release) bill(p product) string { return filepath.Join(r.directory, p.name+".cdx.json") }

func output(command *exec.Cmd) (string, error) {
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(command.Args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
