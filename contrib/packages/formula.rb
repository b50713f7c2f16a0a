# @DESCRIPTION@
class GitEmpirica < Formula
  desc "@DESCRIPTION@"
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
