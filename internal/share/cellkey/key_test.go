package cellkey_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/share/cellkey"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func TestAKeyIsParsedFromItsText(t *testing.T) {
	for range 100 {
		k := cellkey.New()
		back, err := cellkey.Parse(" \n" + k.Text() + "\r\n")
		if err != nil || back != k {
			t.Fatalf("read back: %v, %v", back == k, err)
		}
		if k.Zero() || k == cellkey.New() {
			t.Fatal("a key that is not random")
		}
	}
}

func TestEveryTypingErrorIsReported(t *testing.T) {
	k := cellkey.New()
	text := k.Text()
	start := strings.Index(text, ":") + 1
	refuse := func(what, typed string) {
		t.Helper()
		_, err := cellkey.Parse(typed)
		if err == nil {
			t.Errorf("%s: taken", what)
			return
		}
		showsNothing(t, k, what, err.Error())
	}
	for i := start; i < len(text); i++ {
		for _, c := range alphabet + "+/= \n\x00" {
			if byte(c) != text[i] {
				refuse(fmt.Sprintf("character %d is %q", i, c), text[:i]+string(c)+text[i+1:])
			}
		}
		refuse(fmt.Sprintf("character %d missing", i), text[:i]+text[i+1:])
		refuse(fmt.Sprintf("character %d twice", i), text[:i]+text[i:i+1]+text[i:])
		if i > start && text[i] != text[i-1] {
			refuse(fmt.Sprintf("characters %d and %d exchanged", i-1, i), text[:i-1]+text[i:i+1]+text[i-1:i]+text[i+1:])
		}
	}
	for i := range start {
		refuse(fmt.Sprintf("character %d of the prefix", i), text[:i]+"x"+text[i+1:])
	}
	refuse("nothing", "")
	refuse("half", text[:len(text)/2])
	refuse("another version", strings.Replace(text, "cell-1:", "cell-2:", 1))
	refuse("line breaks", text[:start+24]+"\n\n"+text[start+26:])
	for what, want := range map[string]string{
		strings.Replace(text, "cell-1:", "cell-2:", 1): "version",
		text[start:]:       "begins with airtide-cell-1:",
		text[:len(text)-1]: "47 characters",
	} {
		if _, err := cellkey.Parse(what); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestNothingShowsAKey(t *testing.T) {
	k := cellkey.New()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%X", "%d", "%q", "%o"} {
		showsNothing(t, k, verb, fmt.Sprintf(verb, k))
		showsNothing(t, k, verb+" of a pointer", fmt.Sprintf(verb, &k))
		showsNothing(t, k, verb+" in a struct", fmt.Sprintf(verb, struct{ K cellkey.Key }{k}))
	}
	asJSON, err := json.Marshal(map[string]any{"key": k})
	if err != nil {
		t.Fatal(err)
	}
	showsNothing(t, k, "JSON", string(asJSON))
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "key", k)
	showsNothing(t, k, "log", log.String())
	if !strings.Contains(fmt.Sprint(k), k.Tag().String()) {
		t.Errorf("%v does not name its cell", k)
	}
}

// showsNothing looks for any six digits of the key's text, and any four bytes in hexadecimal or as
// decimal numbers.
func showsNothing(t *testing.T, k cellkey.Key, what, shown string) {
	t.Helper()
	text := k.Text()[len("airtide-cell-1:"):]
	for i := 0; i+6 <= len(text); i++ {
		if strings.Contains(shown, text[i:i+6]) {
			t.Fatalf("%s shows part of the key: %s", what, shown)
		}
	}
	secret := secretOf(k)
	for i := 0; i+4 <= len(secret); i++ {
		four := secret[i : i+4]
		for _, form := range []string{
			hex.EncodeToString(four), strings.ToUpper(hex.EncodeToString(four)),
			strings.Trim(fmt.Sprint(four), "[]"), string(four),
		} {
			if strings.Contains(shown, form) {
				t.Fatalf("%s shows part of the key: %s", what, shown)
			}
		}
	}
}

// sessionKeys returns the key of a session in hexadecimal.
func sessionKeys(k cellkey.Key, session uint64) string {
	key := k.Session(session)
	return hex.EncodeToString(key[:])
}

func TestDerivedValuesAreTheKeysOwn(t *testing.T) {
	a := cellkey.New()
	b := cellkey.New()
	if a.Tag() == b.Tag() || sessionKeys(a, 1) == sessionKeys(b, 1) || sessionKeys(a, 1) == sessionKeys(a, 2) {
		t.Error("different keys or sessions give the same")
	}
	same, err := cellkey.Parse(a.Text())
	if err != nil {
		t.Fatal(err)
	}
	if sessionKeys(a, 7) != sessionKeys(same, 7) || a.Tag() != same.Tag() {
		t.Error("the same key gives different values")
	}
}

// The values are those of an independent HKDF-Expand (Python's hmac module) for the key 00 01 ..
// 1f.
func TestDerivationAgreesWithTheReference(t *testing.T) {
	k, err := cellkey.Parse(knownText)
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Tag().String(); got != knownTag {
		t.Errorf("tag %s, want %s", got, knownTag)
	}
	if got := sessionKeys(k, 0x0123456789abcdef); got != knownSession {
		t.Errorf("session keys %s, want %s", got, knownSession)
	}
	if k.Text() != knownText {
		t.Errorf("text %s", k.Text())
	}
}

func TestAKeyIsItsOwnersAloneWhateverTheUmask(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	for _, mask := range []int{0, 0o077, 0o777} {
		path := filepath.Join(t.TempDir(), "cell.key")
		unix.Umask(mask)
		err := cellkey.Create(path, cellkey.New())
		unix.Umask(0)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("with umask %04o the mode is %v, %v", mask, info.Mode(), err)
		}
	}
}

func TestOnlyAFileOfItsOwnerIsRead(t *testing.T) {
	k := cellkey.New()
	path := filepath.Join(t.TempDir(), "cell.key")
	if err := cellkey.Create(path, k); err != nil {
		t.Fatal(err)
	}
	if got, err := cellkey.Read(path); err != nil || got.New != k || !got.Old.Zero() {
		t.Fatalf("read back: %v, %v", got.New == k, err)
	}
	if err := cellkey.Create(path, cellkey.New()); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a second key over the first: %v", err)
	}
	for mode := os.FileMode(0); mode <= 0o777; mode++ {
		if mode&0o400 == 0 {
			continue // root reads it all the same
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := cellkey.Read(path)
		if open := mode&0o077 != 0; open != (err != nil) {
			t.Errorf("mode %04o: %v", mode, err)
		} else if open {
			if !strings.Contains(err.Error(), "chmod 600 "+path) {
				t.Errorf("mode %04o: %v does not say how to mend it", mode, err)
			}
			showsNothing(t, k, "error", err.Error())
		}
	}
}

// TestACredentialOfSystemdIsRead has the mode that an ACL for the service's user shows.
func TestACredentialOfSystemdIsRead(t *testing.T) {
	folder := t.TempDir()
	elsewhere := t.TempDir()
	k := cellkey.New()
	for _, dir := range []string{folder, elsewhere} {
		if err := cellkey.Create(filepath.Join(dir, "cell.key"), k); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CREDENTIALS_DIRECTORY", folder)
	for _, c := range []struct {
		folder string
		mode   os.FileMode
		read   bool
	}{
		{folder, 0o400, true},
		{folder, 0o440, true},
		{folder, 0o460, false},
		{folder, 0o444, false},
		{elsewhere, 0o440, false},
	} {
		path := filepath.Join(c.folder, "cell.key")
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if got, err := cellkey.Read(path); (err == nil && got.New == k) != c.read {
			t.Errorf("%s with mode %04o: %v", path, c.mode, err)
		}
	}
}

func TestErrorsOfKeyFilesDoNotShowThem(t *testing.T) {
	dir := t.TempDir()
	k := cellkey.New()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "is a directory",
		fifo:                       "not a regular file",
		write("empty", ""):         "empty",
		write("long", k.Text()+strings.Repeat(" ", 1024)): "too long",
		write("two", k.Text()+"\n"+k.Text()):              "the same",
		write("torn", k.Text()[:40]):                      "characters",
		k.Text():                                          "a key was given",
	} {
		_, err := cellkey.Read(path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
			continue
		}
		showsNothing(t, k, "error", err.Error())
	}
}

func FuzzParse(f *testing.F) {
	f.Add(knownText)
	f.Add("airtide-cell-1:")
	f.Add("airtide-cell-2:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
	f.Add(knownText[:40] + "\n\n" + knownText[42:])
	f.Fuzz(func(t *testing.T, text string) {
		k, err := cellkey.Parse(text)
		if err == nil && k.Text() != strings.TrimSpace(text) {
			t.Errorf("%q was taken and is not how the key is written", text)
		}
	})
}

func TestAccessPointsHaveDifferentHashes(t *testing.T) {
	k, err := cellkey.Parse(knownText)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]bool{}
	for i := range byte(200) {
		seen[k.BSS([6]byte{2, 0, 0, 0, 0, i})] = true
	}
	if len(seen) != 200 || seen[0] || k.BSS([6]byte{2}) == cellkey.New().BSS([6]byte{2}) {
		t.Errorf("of 200 access points %d are told apart", len(seen))
	}
}
