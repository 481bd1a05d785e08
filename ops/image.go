package ops

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	_ "image/jpeg" // the formats that image.Decode knows
	_ "image/png"
	"strings"

	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"github.com/starlarkgs/starlarkgs/array"
	"github.com/starlarkgs/starlarkgs/ops/sym"
)

// decodeImage turns the bytes of an image file into pixels, height × width ×
// channels. What can't be decoded gives an empty image, as the standard says.
func decodeImage(c *Call) error {
	a, err := c.Need(0)
	if err != nil {
		return err
	}
	if a.DType() != array.Uint8 || a.Rank() != 1 {
		return c.Errorf("input 0: got %s, want uint8 of rank 1", a.Summary())
	}
	format := c.Str("pixel_format")
	channels := pixelChannels(format)
	if channels == 0 {
		return c.Errorf("attribute \"pixel_format\": got %q, want \"RGB\", \"BGR\" or \"Grayscale\"", format)
	}
	raw := array.Data[uint8](a.Contiguous())
	if isJPEG2000(raw) {
		return c.Errorf("input 0: got a JPEG 2000 image, which this backend can't decode")
	}
	w, h, ok := imageSize(raw)
	if err := c.CheckSize(array.Uint8, []int{h, w, 4}); err != nil {
		return err
	}
	var at func(x, y int) [3]uint8
	if ok {
		at, err = openImage(raw)
	}
	if !ok || err != nil {
		w, h = 0, 0
	}
	out, err := c.Make(array.Uint8, []int{h, w, channels})
	if err != nil {
		return err
	}
	dst := array.MutableData[uint8](out)
	for i := range h * w {
		p := at(i%w, i/w)
		switch format {
		case "RGB":
			copy(dst[3*i:], p[:])
		case "BGR":
			dst[3*i], dst[3*i+1], dst[3*i+2] = p[2], p[1], p[0]
		default:
			dst[i] = luma(p)
		}
	}
	c.Out[0] = out
	return nil
}

func pixelChannels(format string) int {
	switch format {
	case "RGB", "BGR":
		return 3
	case "Grayscale":
		return 1
	}
	return 0
}

// luma is the brightness of ITU-R BT.601, rounded.
func luma(p [3]uint8) uint8 {
	return uint8((uint32(p[0])*19595 + uint32(p[1])*38470 + uint32(p[2])*7471 + 1<<15) >> 16)
}

func isJPEG2000(raw []byte) bool {
	return bytes.HasPrefix(raw, []byte("\x00\x00\x00\x0cjP  ")) || bytes.HasPrefix(raw, []byte("\xff\x4f\xff\x51"))
}

// imageSize reads the size alone, so that it can be checked before memory is
// taken.
func imageSize(raw []byte) (w, h int, ok bool) {
	if p, err := readPNM(raw); err == nil {
		return p.w, p.h, true
	}
	cfg, _, err := image.DecodeConfig(bytes.NewReader(raw))
	return cfg.Width, cfg.Height, err == nil
}

// openImage decodes an image and returns its pixels.
func openImage(raw []byte) (func(x, y int) [3]uint8, error) {
	if p, err := readPNM(raw); err == nil {
		return p.at, nil
	}
	img, kind, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	switch img := img.(type) {
	case *image.YCbCr:
		return newChroma(img, kind == "webp").at, nil
	case *image.NYCbCrA:
		return newChroma(&img.YCbCr, kind == "webp").at, nil
	}
	r := img.Bounds()
	return func(x, y int) [3]uint8 {
		p := color.NRGBAModel.Convert(img.At(r.Min.X+x, r.Min.Y+y)).(color.NRGBA)
		return [3]uint8{p.R, p.G, p.B}
	}, nil
}

// pnm is an image of the portable formats: bits, grays or colours, as text or as
// bytes.
type pnm struct {
	w, h, most int
	channels   int
	samples    []int
}

var errPNM = errors.New("not a portable image")

// readPNM reads P1 to P6.
func readPNM(raw []byte) (*pnm, error) {
	if len(raw) < 3 || raw[0] != 'P' || raw[1] < '1' || raw[1] > '6' {
		return nil, errPNM
	}
	kind := int(raw[1] - '0')
	s := &pnmScanner{raw[2:]}
	p := &pnm{w: s.number(), h: s.number(), most: 1, channels: 1}
	if kind%3 != 1 {
		p.most = s.number()
	}
	if kind%3 == 0 {
		p.channels = 3
	}
	n := p.w * p.h * p.channels
	if p.w < 1 || p.h < 1 || p.w > 1<<20 || p.h > 1<<20 || p.most < 1 || p.most > 65535 || n > 16*len(raw) {
		return nil, errPNM
	}
	p.samples = make([]int, 0, n)
	if kind < 4 {
		for range n {
			p.samples = append(p.samples, s.sample(kind == 1))
		}
		return p, nil
	}
	return p, p.unpack(s.rest, kind)
}

// unpack reads samples from bytes that follow one space.
func (p *pnm) unpack(raw []byte, kind int) error {
	if len(raw) == 0 {
		return errPNM
	}
	raw = raw[1:]
	row := p.w * p.channels
	size := row
	switch {
	case kind == 4:
		size = (p.w + 7) / 8
	case p.most > 255:
		size *= 2
	}
	if len(raw) < size*p.h {
		return errPNM
	}
	for i := range row * p.h {
		line := raw[i/row*size:]
		switch k := i % row; {
		case kind == 4:
			p.samples = append(p.samples, int(line[k/8]>>(7-k%8)&1))
		case p.most > 255:
			p.samples = append(p.samples, int(line[2*k])<<8|int(line[2*k+1]))
		default:
			p.samples = append(p.samples, int(line[k]))
		}
	}
	return nil
}

func (p *pnm) at(x, y int) (out [3]uint8) {
	for i := range out {
		v := p.samples[(y*p.w+x)*p.channels+i%p.channels]
		if p.most == 1 && p.channels == 1 {
			v = 1 - v // a bit that is set is black
		}
		out[i] = uint8((min(v, p.most)*255 + p.most/2) / p.most)
	}
	return out
}

// pnmScanner reads the text of a portable image.
type pnmScanner struct{ rest []byte }

// number skips spaces and comments and reads digits; -1 when there are none.
func (s *pnmScanner) number() int {
	for len(s.rest) > 0 && !isDigit(s.rest[0]) {
		switch {
		case s.rest[0] == '#':
			end := bytes.IndexByte(s.rest, '\n')
			s.rest = s.rest[max(end, 0):]
			if end < 0 {
				return -1
			}
		case !strings.ContainsRune(" \t\r\n\v\f", rune(s.rest[0])):
			return -1
		}
		s.rest = s.rest[1:]
	}
	n, digits := 0, 0
	for len(s.rest) > 0 && isDigit(s.rest[0]) && n < 1<<24 {
		n = n*10 + int(s.rest[0]-'0')
		s.rest = s.rest[1:]
		digits++
	}
	if digits == 0 {
		return -1
	}
	return n
}

// sample reads a number, or one digit where samples are bits that may touch.
func (s *pnmScanner) sample(bit bool) int {
	if !bit {
		return max(0, s.number())
	}
	for len(s.rest) > 0 {
		b := s.rest[0]
		s.rest = s.rest[1:]
		if b == '0' || b == '1' {
			return int(b - '0')
		}
	}
	return 0
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func inferImageDecoder(c *Infer) error {
	out := TensorFact(array.Uint8, make([]sym.Expr, 3))
	if n := pixelChannels(c.Str("pixel_format")); n > 0 {
		out.Dims[2] = sym.Int(int64(n))
	}
	c.Set(0, out)
	return nil
}

var imageOps = []Op{
	{Name: "ImageDecoder", Since: 20, Infer: inferImageDecoder, Eval: decodeImage},
}
