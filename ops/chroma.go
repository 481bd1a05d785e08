package ops

import "image"

// chroma makes colours of a picture whose colour planes are smaller than its
// brightness. The planes are enlarged by a triangle filter: the nearer of two
// elements weighs three times the other, which is the method that the text of
// ImageDecoder describes and that decoders of JPEG and WebP use by default.
type chroma struct {
	img    *image.YCbCr
	webp   bool // colours of video range, and its rounding
	sx, sy int  // pixels for each element of the colour planes
	w, h   int  // of the colour planes
}

func newChroma(img *image.YCbCr, webp bool) *chroma {
	c := &chroma{img: img, webp: webp, sx: 1, sy: 1}
	switch img.SubsampleRatio {
	case image.YCbCrSubsampleRatio422:
		c.sx = 2
	case image.YCbCrSubsampleRatio420:
		c.sx, c.sy = 2, 2
	case image.YCbCrSubsampleRatio440:
		c.sy = 2
	case image.YCbCrSubsampleRatio411:
		c.sx = 4
	case image.YCbCrSubsampleRatio410:
		c.sx, c.sy = 4, 2
	}
	c.w, c.h = (img.Rect.Dx()+c.sx-1)/c.sx, (img.Rect.Dy()+c.sy-1)/c.sy
	return c
}

func (c *chroma) at(x, y int) [3]uint8 {
	luma := int(c.img.Y[y*c.img.YStride+x])
	cb, cr := c.plane(c.img.Cb, x, y), c.plane(c.img.Cr, x, y)
	if c.webp {
		return videoRGB(luma, cb, cr)
	}
	return fullRGB(luma, cb, cr)
}

// plane returns the element of a colour plane for a pixel.
func (c *chroma) plane(p []uint8, x, y int) int {
	near := func(i, j int) int { return int(p[min(max(j, 0), c.h-1)*c.img.CStride+min(max(i, 0), c.w-1)]) }
	i, j := x/c.sx, y/c.sy
	di, dj := 2*(x%2)-1, 2*(y%2)-1 // towards the other neighbour
	switch {
	case c.sx == 2 && c.sy == 2:
		this, other := 3*near(i, j)+near(i, j+dj), 3*near(i+di, j)+near(i+di, j+dj)
		if c.webp {
			return (3*this + other + 8) >> 4
		}
		return (3*this + other + 8 - x%2) >> 4
	case c.sx == 2 && c.sy == 1:
		if i+di < 0 || i+di >= c.w {
			return near(i, j)
		}
		return (3*near(i, j) + near(i+di, j) + 1 + x%2) >> 2
	case c.sx == 1 && c.sy == 2:
		return (3*near(i, j) + near(i, j+dj) + 1 + y%2) >> 2
	}
	return near(i, j)
}

// fullRGB converts as JFIF 1.02 says, in 16 bits of fraction.
func fullRGB(y, cb, cr int) [3]uint8 {
	cb, cr = cb-128, cr-128
	const half = 1 << 15
	return [3]uint8{
		byteOf(y + (91881*cr+half)>>16),
		byteOf(y + (-22554*cb-46802*cr+half)>>16),
		byteOf(y + (116130*cb+half)>>16),
	}
}

// videoRGB converts from the range 16 to 235 of ITU-R BT.601, as RFC 6386's
// decoders do: in 14 bits of fraction, of which 8 are dropped early.
func videoRGB(y, u, v int) [3]uint8 {
	y = 19077 * y >> 8
	return [3]uint8{
		byteOf((y + 26149*v>>8 - 14234) >> 6),
		byteOf((y - 6419*u>>8 - 13320*v>>8 + 8708) >> 6),
		byteOf((y + 33050*u>>8 - 17685) >> 6),
	}
}

func byteOf(v int) uint8 { return uint8(min(max(v, 0), 255)) }
