# Records of AI coding agents in git notes
class GitEmpirica < Formula
  desc "Keeps what AI agents learned, tried and decided, as git notes"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]
@ARCHIVES@
  def install
    prefix.install "bin", "share"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/git-empirica --version")
    system bin/"git-empirica", "demo"
  end
end
