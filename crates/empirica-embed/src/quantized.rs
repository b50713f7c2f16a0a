//! Vectors with a byte a number: their product with a query, and the nearest ones.

/// A vector with a byte a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantized {
    /// The value of a step of the numbers.
    pub scale: f32,
    /// From -127 to 127, a signed byte each.
    pub numbers: Vec<u8>,
}

impl Quantized {
    /// The vector at length 1; of zeros, zeros.
    pub fn of(vector: &[f32]) -> Self {
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        let most = vector.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
        if length == 0.0 || most == 0.0 {
            return Quantized { scale: 0.0, numbers: vec![0; vector.len()] };
        }
        let numbers = vector.iter().map(|number| ((number / most * 127.0).round() as i8).cast_unsigned()).collect();
        Quantized { scale: most / 127.0 / length, numbers }
    }
}

/// The product of the numbers of two vectors of one length.
pub fn product(a: &[u8], b: &[u8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(a.cast_signed()) * i32::from(b.cast_signed())).sum()
}

/// The vectors that are nearest, with their cosine.
#[derive(Debug)]
pub struct Nearest<T> {
    most: usize,
    least: f32,
    found: Vec<(f32, T)>,
}

impl<T> Nearest<T> {
    /// Keeps at most so many.
    pub fn new(most: usize) -> Self {
        Nearest { most, least: f32::NEG_INFINITY, found: Vec::new() }
    }

    /// Offers one.
    pub fn offer(&mut self, cosine: f32, what: impl FnOnce() -> T) {
        if cosine <= self.least || self.most == 0 {
            return;
        }
        self.found.push((cosine, what()));
        if self.found.len() >= self.most.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.found.sort_by(|a, b| b.0.total_cmp(&a.0));
        self.found.truncate(self.most);
        if self.found.len() == self.most {
            self.least = self.found.last().map_or(f32::NEG_INFINITY, |(cosine, _)| *cosine);
        }
    }

    /// Those that were nearest, the nearest first; of equals those that were offered first.
    pub fn found(mut self) -> Vec<(f32, T)> {
        self.cut();
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cosine_survives_a_byte_a_number() {
        let a: Vec<f32> = (0..256).map(|n| (n as f32 * 0.7).sin()).collect();
        let b: Vec<f32> = (0..256).map(|n| (n as f32 * 0.7 + 0.5).sin() * 3.0).collect();
        let length = |v: &[f32]| v.iter().map(|n| n * n).sum::<f32>().sqrt();
        let exact = a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>() / length(&a) / length(&b);
        let (a, b) = (Quantized::of(&a), Quantized::of(&b));
        let found = product(&a.numbers, &b.numbers) as f32 * a.scale * b.scale;
        assert!((found - exact).abs() < 0.003, "{found} {exact}");
        assert_eq!(Quantized::of(&[0.0, 0.0]), Quantized { scale: 0.0, numbers: vec![0, 0] });
    }

    #[test]
    fn the_nearest_are_kept() {
        let mut nearest = Nearest::new(3);
        for n in [5, 1, 9, 3, 9, 7, 2, 8, 0, 6] {
            nearest.offer(n as f32, || n);
        }
        assert_eq!(nearest.found().into_iter().map(|(_, n)| n).collect::<Vec<_>>(), [9, 9, 8]);
        let mut none = Nearest::new(0);
        none.offer(1.0, || 1);
        assert!(none.found().is_empty());
    }
}
