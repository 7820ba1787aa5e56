// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// certificates is where an image has the root certificates.
const certificates = "/etc/ssl/certs/ca-certificates.crt"

// products reads all archives and programs of a release's directory. An image that does not have the required properties is an
// error.
func (r release) products() ([]product, error) {
	archives, err := r.images()
	if err != nil {
		return nil, err
	}
	var all []product
	for _, archive := range archives {
		p, err := r.image(archive)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(archive), err)
		}
		all = append(all, p)
	}
	programs, err := r.programs()
	if err != nil {
		return nil, err
	}
	return append(all, programs...), nil
}

// image reads an archive that has an image for each platform.
func (r release) image(archive string) (product, error) {
	p := product{
		name: strings.TrimSuffix(filepath.Base(archive), ".tar"), version: r.version, kind: cyclonedx.ComponentTypeContainer, time: r.time,
	}
	reference, images, err := readArchive(archive)
	if err != nil {
		return product{}, err
	}
	if want := "localhost/" + p.name + ":" + r.version; reference != want {
		return product{}, fmt.Errorf("the image is %s, not %s", reference, want)
	}
	for _, image := range images {
		b, err := r.check(p.name, image)
		if err != nil {
			return product{}, fmt.Errorf("image for %s: %w", image.config.platform, err)
		}
		p.binaries = append(p.binaries, b)
		p.roots, p.rootsModule = image.files[certificates].content, r.roots
	}
	return p, complete(p, r.platforms)
}

// check fails unless an image has the required contents, and nothing else.
func (r release) check(name string, i image) (binary, error) {
	b, err := readBinary(i.files["/"+name].content)
	if err != nil {
		return binary{}, fmt.Errorf("/%s: %w", name, err)
	}
	if b.platform != i.config.platform {
		return binary{}, fmt.Errorf("the program is for %s", b.platform)
	}
	if files, want := slices.Sorted(maps.Keys(i.files)), []string{certificates, "/" + name}; !slices.Equal(files, want) {
		return binary{}, fmt.Errorf("its files are %s, not %s", files, want)
	}
	for _, path := range slices.Sorted(maps.Keys(i.files)) {
		if h := i.files[path].header; h.Mode&0o7777 != 0o555 || h.Uid != 0 || h.Gid != 0 {
			return binary{}, fmt.Errorf("%s has the mode %o and the owner %d:%d", path, h.Mode, h.Uid, h.Gid)
		}
	}
	if c := i.config.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/" + name}) {
		return binary{}, fmt.Errorf("it runs %s as %q", c.Entrypoint, c.User)
	}
	for label, want := range map[string]string{
		"title": name, "version": r.version, "revision": r.commit, "licenses": "Apache-2.0", "source": "https://groundskeeper.io/groundskeeper",
	} {
		if is := i.config.Config.Labels["org.opencontainers.image."+label]; is != want {
			return binary{}, fmt.Errorf("label %s is %q, not %q", label, is, want)
		}
	}
	return b, nil
}

// programs reads the programs that come without an image: NAME-OS-ARCHITECTURE, on Windows with .exe.
func (r release) programs() ([]product, error) {
	platforms := r.programPlatforms
	if len(platforms) == 0 {
		platforms = r.platforms
	}
	suffix := programSuffix(platforms[0])
	found, err := filepath.Glob(filepath.Join(r.directory, "*"+suffix))
	if err != nil {
		return nil, err
	}
	var all []product
	for _, first := range found {
		p := product{version: r.version, kind: cyclonedx.ComponentTypeApplication, time: r.time}
		p.name = strings.TrimSuffix(filepath.Base(first), suffix)
		for _, platform := range platforms {
			file := p.name + programSuffix(platform)
			content, err := os.ReadFile(filepath.Join(r.directory, file))
			if err != nil {
				return nil, err
			}
			b, err := readBinary(content)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			p.binaries = append(p.binaries, b)
		}
		if err := complete(p, platforms); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// programSuffix returns the end of the name of a program for a platform.
func programSuffix(platform string) string {
	suffix := "-" + strings.ReplaceAll(platform, "/", "-")
	if strings.HasPrefix(platform, "windows/") {
		suffix += ".exe"
	}
	return suffix
}

// complete fails unless a product has one program for each platform, in their order.
func complete(p product, want []string) error {
	var platforms []string
	for _, b := range p.binaries {
		platforms = append(platforms, b.String())
	}
	if !slices.Equal(platforms, want) {
		return fmt.Errorf("it is for %s, not for %s", platforms, want)
	}
	return nil
}
